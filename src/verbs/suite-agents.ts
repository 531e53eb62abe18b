import path from 'node:path';
import { Readable } from 'node:stream';
import { Fault } from '../base/fault.ts';
import { bytesHash, contentHash } from '../base/hash.ts';
import { followLink } from '../base/regular.ts';
import { TREE_BYTES_MAX } from '../contracts/attempt-request/index.ts';
import { attemptsIn } from '../evidence/run-folder/runs.ts';
import { suiteCases } from '../evidence/suite/suite-folder.ts';
import type { SuitePlan } from '../evidence/suite/suite-run.ts';
import { treeBundle } from '../execute/worktree/tree-bundle.ts';
import type { AgentOrder } from '../run/agent/order.ts';
import { readAgentPolicy } from '../run/agent/read-policy.ts';
import { readPrices } from '../run/agent/read-prices.ts';
import { offersOf } from '../run/pipeline/runner-plan.ts';
import { askedIn } from '../run/suite/agent-asked.ts';
import type { CaseSetups } from '../run/suite/agent-work.ts';
import type { AskedPlan } from '../run/suite/attempt-question.ts';
import type { SuiteAgentOrder } from '../run/suite/case-order.ts';
import { checkRecordings, makeRecordings, recordingsOf } from '../run/suite/recordings.ts';
import type { TakeRun } from '../run/suite/reported-attempt.ts';
import { settingsFrom, type SuiteSettings } from '../run/suite/settings.ts';
import type { Target } from '../run/suite/target.ts';
import type { BlobStore } from '../store/store.ts';
import { sharedLauncher } from './launcher.ts';
import type { RunSuiteOptions, StartedSuiteRun } from './run-suite.ts';
import { documentBlob, opensNetwork, refuseUnsent } from './sent-agents.ts';
import type { Whom } from './suite-targets.ts';

type PlannedAgent = NonNullable<SuitePlan['agent']>;

/** The agent in a run's plan. Refuses it if the agent, or anything that the cases use, changed. */
export async function agentFor(
  { request }: SuitePlan,
  where: PlannedAgent,
  { secrets = {}, environment = {}, home, signer }: StartedSuiteRun,
  settings: SuiteSettings,
  folder: string,
): Promise<Target> {
  const { version: side } = request;
  const [{ agentTarget }, { judgeAgentRun }] = await Promise.all([
    import('../run/suite/agent-target.ts'),
    import('../judge/agent/judge-agent.ts'),
  ]);
  const kept = attemptsIn(home);
  const { order, casesDir } = orderOf(request, where, { secrets, environment, needsModel: true }, settings);
  await refuseChanged(request, where, order, { folder, home: kept });
  const recordings = recordingsOf(where.modelMode, where.recordings);
  if (recordings) makeRecordings(recordings);
  const { number: repetition } = request.repetition;
  const launcher = sharedLauncher;
  return agentTarget({
    order,
    casesDir,
    recordings,
    repetition,
    side,
    launcher,
    home: kept,
    signer,
    settings,
    claimsIn: async folder => (await judgeAgentRun(folder, signer)).flags,
  });
}

type RestOfOrder = Pick<SuiteAgentOrder, 'secrets' | 'environment' | 'needsModel'>;

/** The agent of a plan as an order, and the folder that paths in its cases start from. */
function orderOf(
  { target, keep_credentials }: SuitePlan['request'],
  planned: PlannedAgent,
  rest: RestOfOrder,
  settings: SuiteSettings,
): { readonly order: SuiteAgentOrder; readonly casesDir: string } {
  const { recordings: _, commits: __, casesDir = planned.cwd, ...asked } = planned;
  const agent = target.kind === 'agent' ? target.name : '';
  const keepCredentials = keep_credentials === true;
  return { order: { ...asked, ...rest, agent, keepCredentials, ...clocksOf(settings) }, casesDir };
}

/** Refuses a plan whose agent, or anything that its cases use, is no longer the same. */
async function refuseChanged(
  request: SuitePlan['request'],
  { commits, casesDir, cwd }: PlannedAgent,
  order: SuiteAgentOrder,
  { folder, home }: { readonly folder: string; readonly home: string },
): Promise<void> {
  const [{ namedAgent }, { setupsIn }] = await Promise.all([
    import('../run/suite/agent-target.ts'),
    import('../run/suite/case-setups.ts'),
  ]);
  const cases = { folder: casesDir ?? cwd, setups: setupsIn(suiteCases(folder)) };
  const now = await namedAgent(order, cases, { launcher: await sharedLauncher(), home, signer: undefined });
  if (contentHash(now.target) !== request.target_sha256)
    throw new Fault(
      'agent_changed',
      'The agent, a policy, or a folder that the cases use changed since the run started. Restore it, or start a new run.',
    );
  if (commits !== undefined && commits !== now.commits)
    throw new Fault(
      'commit_changed',
      'A repository that the cases use is at another commit than when the run started. Check out that commit, or start a new run.',
    );
}

/** How workers make the attempts of an agent: what it starts from, and how its runs come back. */
export interface SentAgent {
  readonly tree: NonNullable<AskedPlan['agentTree']>;
  readonly takeRun: TakeRun;
}

/** Puts the tree, the policy and the prices of an agent into the store. Refuses an agent that changed. */
export async function sentAgent(
  { request }: SuitePlan,
  where: PlannedAgent,
  { environment = {}, home }: Pick<StartedSuiteRun, 'environment' | 'home'>,
  store: BlobStore,
  folder: string,
): Promise<SentAgent> {
  const { target, version: side, keep_credentials } = request;
  if (target.kind !== 'agent') throw new Fault('internal', 'The target is not an agent.');
  const settings = settingsFrom(request.settings);
  const kept = attemptsIn(home);
  const { order, casesDir } = orderOf(request, where, { secrets: {}, environment, needsModel: false }, settings);
  await refuseChanged(request, where, order, { folder, home: kept });
  const [{ runTaker }, { sentAgents }, { evaluateAgent }] = await Promise.all([
    import('./taken-runs.ts'),
    import('./taken-agents.ts'),
    import('../judge/agent/judge-agent.ts'),
  ]);
  const { commit, sha256, bytes } = await treeBundle(where.dir, where.base, TREE_BYTES_MAX);
  const { policy } = readAgentPolicy(where.policy, where.cwd);
  await stored(store, bytes);
  await stored(store, documentBlob(policy));
  if (where.prices !== undefined) await stored(store, documentBlob(readPrices(where.prices, where.cwd)));
  const offers = offersOf(await (await sharedLauncher()).machine());
  const reader = {
    side,
    secrets: {},
    settings,
    // A stored evaluation would need a signature of the worker.
    claimsIn: async (run: string) => evaluateAgent(run).flags,
    ...(keep_credentials && { keepCredentials: true }),
  };
  const asked = { target, order, casesDir, commit, offers };
  return {
    tree: { sha256, bytes: bytes.length, commit },
    takeRun: runTaker(sentAgents(asked, reader), kept, store),
  };
}

async function stored(store: BlobStore, bytes: Buffer): Promise<void> {
  await store.put(bytesHash(bytes), Readable.from([bytes]), bytes.length);
}

/** Checks and describes an agent and the work of the cases, before anything is written. */
export async function describeAgent(
  options: RunSuiteOptions & { agent: string },
  settings: SuiteSettings,
  home: string,
  cwd: string,
  known: CaseSetups['setups'] | undefined,
): Promise<Whom> {
  const { agent, policy = 'read-only', dir = '.', secrets = {}, environment = {}, bounds } = options;
  const [{ namedAgent }, { setupsOfFile }, { suiteChecks, suiteMounts }] = await Promise.all([
    import('../run/suite/agent-target.ts'),
    import('../run/suite/case-setups.ts'),
    import('../run/suite/suite-checks.ts'),
  ]);
  const { recordings: folder, mounts, checks, ...rest } = askedIn(options);
  const every = { ...suiteMounts(mounts, cwd), ...suiteChecks(checks, options.checksFile, cwd) };
  const asked = { ...rest, ...every };
  const file = path.resolve(cwd, options.cases);
  const casesDir = options.casesFolder ?? path.dirname(followLink(file));
  const setups =
    known ??
    setupsOfFile(
      file,
      options.only,
      (every.checks ?? []).map(({ name }) => name),
    );
  const isQueued = options.queue !== undefined;
  if (isQueued) {
    refuseUnsent({ ...options, ...every, cpus: bounds?.cpus }, setups);
    if (opensNetwork(readAgentPolicy(policy, cwd).policy)) throw new Fault('not_queueable', OPEN);
    await treeBundle(path.resolve(cwd, dir), asked.base, TREE_BYTES_MAX);
  }
  const recordings = recordingsOf(asked.modelMode, folder && path.resolve(cwd, folder));
  if (recordings) checkRecordings(recordings);
  const cpus = bounds?.cpus;
  const where = { dir: path.resolve(cwd, dir), policy, cwd, ...(cpus !== undefined && { cpus }), ...asked };
  const { commits, ...named } = await namedAgent(
    { ...where, agent, secrets, environment, needsModel: !isQueued, ...clocksOf(settings) },
    { folder: casesDir, setups },
    { launcher: await sharedLauncher(), home: attemptsIn(home), signer: undefined },
  );
  return {
    ...named,
    script: null,
    agent: {
      ...where,
      casesDir,
      ...(commits !== undefined && { commits }),
      ...(recordings && { recordings: recordings.folder }),
    },
    bounds: {},
  };
}

const OPEN =
  'On workers, agents run only without a network, because anyone who can write to the queue chooses their tasks. Use a policy that denies the network, or run the suite without --queue.';

function clocksOf({ timeoutMs, idleMs }: SuiteSettings): Pick<AgentOrder, 'timeoutMs' | 'idleMs'> {
  return { timeoutMs, idleMs };
}
