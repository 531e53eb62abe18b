import path from 'node:path';
import { canonicalize } from '../../base/canonical.ts';
import { Fault } from '../../base/fault.ts';
import { fileHash } from '../../base/file-hash.ts';
import { contentHash } from '../../base/hash.ts';
import { printable } from '../../base/printable.ts';
import {
  CODING_KEYS,
  type CodingKeys,
  mountIn,
  type SuiteCase,
  type SuiteTarget,
} from '../../contracts/suite/index.ts';
import { checkSource } from '../../execute/worktree/clone.ts';
import { folderDigest, MOUNT_LIMITS } from '../../execute/worktree/mount-digest.ts';
import type { AgentContext } from '../agent/agent.ts';
import { boundFor } from '../agent/bound.ts';
import { modelFor } from '../agent/model.ts';
import { plannedMounts } from '../agent/mounts.ts';
import { checkAgentOrder } from '../agent/order.ts';
import { programFor } from '../agent/program.ts';
import { readAgentPolicy } from '../agent/read-policy.ts';
import { cloneFrom, startFiles } from '../agent/start.ts';
import { refuseMissingProgram } from '../checks/missing-program.ts';
import { type ReadyCheck, readyChecks } from '../checks/order.ts';
import { offersOf } from '../pipeline/runner-plan.ts';
import { readySetup } from '../setup/order.ts';
import { caseOrder, type SuiteAgentOrder } from './case-order.ts';

type AgentWork = NonNullable<Extract<SuiteTarget, { kind: 'agent' }>['work']>;

/** What the cases of a suite say about the work, and the folder that their paths start from. */
export interface CaseSetups {
  readonly folder: string;
  readonly setups: readonly CaseSetup[];
}

interface CaseSetup {
  /** The first case that has these keys. */
  readonly id: string;
  readonly keys: CodingKeys;
}

/** Collects what cases say about the work, each combination once. */
export class SetupCollector {
  readonly #seen = new Map<string, CaseSetup>();

  take(one: SuiteCase): void {
    const given = CODING_KEYS.filter(key => one[key] !== undefined);
    const keys: CodingKeys = Object.fromEntries(given.map(key => [key, one[key]]));
    const text = canonicalize(keys);
    if (this.#seen.has(text)) return;
    if (this.#seen.size >= SETUPS_MAX)
      throw new Fault('usage', 'The cases describe more than 10,000 different kinds of work. Split the suite.');
    this.#seen.set(text, { id: one.id, keys });
  }

  list(): readonly CaseSetup[] {
    return [...this.#seen.values()];
  }
}

const SETUPS_MAX = 10_000;

export interface DescribedWork {
  /** Hashes of what the suite and its cases name, so that a changed hidden test makes a different target. */
  readonly work: AgentWork | undefined;
  /** The hash of the commits that the cases start from. Not part of the target: every version has its own commit. */
  readonly commits: string | undefined;
}

/** Refuses all work that this machine cannot do, before the first case. */
export async function describeWork(
  suite: SuiteAgentOrder,
  { folder, setups }: CaseSetups,
  around: AgentContext,
): Promise<DescribedWork> {
  const survey = new Survey(suite, folder, around);
  await survey.ofSuite();
  for (const { id, keys } of setups) {
    try {
      await survey.ofCase(keys);
    } catch (error) {
      if (!(error instanceof Fault) || Object.keys(keys).length === 0) throw error;
      throw new Fault(error.code, `Case ${printable(id)}: ${error.message}${pathHint(error)}`, { cause: error.cause });
    }
  }
  return { work: survey.work(), commits: survey.commits() };
}

/** The path of a missing folder is often relative to the wrong folder. */
function pathHint({ message }: Fault): string {
  return /does not exist|is not a folder/.test(message) ? ' Paths in a case file are relative to its folder.' : '';
}

/** Looks at each program, policy, repository and folder once, however many cases name it. */
class Survey {
  readonly #suite: SuiteAgentOrder;
  readonly #folder: string;
  readonly #around: AgentContext;
  readonly #looked = new Map<string, Promise<unknown>>();
  readonly #agents = new Map<string, AgentWork['agents'][number]>();
  readonly #policies = new Map<string, AgentWork['policies'][number]>();
  readonly #contents = new Map<string, AgentWork['contents'][number]>();
  readonly #commits = new Map<string, string>();
  #checks: AgentWork['checks'] = [];
  #mounts: AgentWork['mounts'] = [];

  constructor(suite: SuiteAgentOrder, folder: string, around: AgentContext) {
    this.#suite = suite;
    this.#folder = folder;
    this.#around = around;
  }

  /** The checks and mounts of every case. */
  async ofSuite(): Promise<void> {
    const { checks = [], mounts = [], cwd } = this.#suite;
    this.#checks = (await this.#ready(checks, cwd)).map(check => ({ name: check.name, sha256: hashOfCheck(check) }));
    for (const { dir, path: at = path.basename(dir) } of mounts)
      this.#mounts.push({ path: at, sha256: await this.#digest(path.resolve(cwd, dir)) });
  }

  async ofCase(keys: CodingKeys): Promise<void> {
    const order = caseOrder(this.#suite, keys, this.#folder);
    const { modelMode = 'live' } = order;
    const whole = { ...order, task: 'any', ...(modelMode !== 'live' && { recording: 'any' }) };
    const adapter = checkAgentOrder(whole);
    const offers = offersOf(await this.#around.launcher.machine());
    const { bounds } = boundFor(whole, adapter, offers);
    readySetup(order.setup, bounds.network, offers);
    // A recording that cannot be replayed fails its case, not the suite.
    if (modelMode !== 'replay') modelFor(whole, adapter);
    const program = await this.#once(['program', order.agent], () => programFor(whole, adapter, this.#around));
    if (keys.agent !== undefined) {
      const { version, sha256 } = program;
      this.#agents.set(adapter.agent, { name: adapter.agent, version, sha256 });
    }
    if (keys.policy !== undefined)
      this.#policies.set(keys.policy, { name: keys.policy, sha256: readAgentPolicy(order.policy, order.cwd).sha256 });
    const source = [order.dir ?? null, order.repository ?? null, order.base ?? null];
    const commit = await this.#once(['source', ...source], () =>
      checkSource(cloneFrom(whole), order.allowDirty === true, order.base),
    );
    if (commit !== undefined) this.#commits.set(JSON.stringify(source), commit);
    await this.#contentsOf(keys, order);
  }

  async #contentsOf(keys: CodingKeys, order: SuiteAgentOrder): Promise<void> {
    const ready = await this.#ready(order.checks ?? [], order.cwd);
    for (const [index, { overlay }] of (keys.checks ?? []).entries()) {
      const sha256 = ready[index]?.overlay?.sha256;
      if (overlay !== undefined && sha256 !== undefined) this.#note('overlay', overlay, sha256);
    }
    const files = startFiles({ ...order, task: '' });
    if (keys.files !== undefined && files) this.#note('files', keys.files, files.sha256);
    const bundle = order.repository === undefined ? undefined : fileHash(order.repository);
    if (keys.repository !== undefined && bundle !== undefined) this.#note('repository', keys.repository, bundle);
    plannedMounts(order, '');
    for (const mount of keys.mounts ?? []) {
      const { dir } = mountIn(mount);
      this.#note('mount', dir, await this.#digest(path.resolve(this.#folder, dir)));
    }
  }

  #note(of: AgentWork['contents'][number]['of'], at: string, sha256: string): void {
    this.#contents.set(`${of} ${at}`, { of, path: at, sha256 });
  }

  async #ready(checks: NonNullable<SuiteAgentOrder['checks']>, cwd: string): Promise<ReadyCheck[]> {
    for (const check of checks) refuseMissingProgram(check);
    return readyChecks(checks, cwd, offersOf(await this.#around.launcher.machine()));
  }

  async #digest(folder: string): Promise<string> {
    const { sha256 } = await this.#once(['digest', folder], () => folderDigest(folder, { ...MOUNT_LIMITS }));
    return sha256;
  }

  #once<Found>(key: readonly unknown[], look: () => Promise<Found>): Promise<Found> {
    const name = JSON.stringify(key);
    const found = (this.#looked.get(name) as Promise<Found> | undefined) ?? look();
    this.#looked.set(name, found);
    return found;
  }

  commits(): string | undefined {
    if (this.#commits.size === 0) return undefined;
    return contentHash([...this.#commits].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  work(): AgentWork | undefined {
    const work: AgentWork = {
      agents: sorted(this.#agents),
      policies: sorted(this.#policies),
      checks: this.#checks,
      mounts: this.#mounts,
      contents: sorted(this.#contents),
    };
    return Object.values(work).every(list => list.length === 0) ? undefined : work;
  }
}

/** In an order that does not depend on the order of the cases. */
function sorted<Entry>(entries: ReadonlyMap<string, Entry>): Entry[] {
  return [...entries].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry);
}

function hashOfCheck({ command, effective, overlay, paths, report, keep }: ReadyCheck): string {
  const { timeoutMs, memoryBytes = null, pids = null } = effective;
  const hidden = overlay?.sha256 ?? null;
  return contentHash({
    command,
    timeoutMs,
    memoryBytes,
    pids,
    hidden,
    paths: paths ?? null,
    report: report ?? null,
    // Absent rather than null, so that hashes from before this key stay the same.
    ...(keep && { keep }),
  });
}
