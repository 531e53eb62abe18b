import { closeSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import * as z from 'zod/mini';
import { Fault } from '../base/fault.ts';
import { type CaseArtifact, caseArtifact } from '../contracts/artifacts/index.ts';
import { check } from '../contracts/check.ts';
import { formOf } from '../contracts/form.ts';
import { anyObject, count, record } from '../contracts/shape.ts';
import { suiteRequest } from '../contracts/suite/index.ts';
import { Chain, type ChainedLine, chainedLines } from './chain.ts';
import { Journal, openJournal, parsedLine } from './journal.ts';
import { refuseForeign, refuseOdd } from './own-file.ts';
import type { AssetNote, Attempt, SuiteLine, SuitePlan } from './suite-run.ts';
import { type FileWriter, SuiteStore } from './suite-store.ts';

/** A run of a suite that is open: it has not begun, or was interrupted. */
export interface OpenSuite {
  readonly store: SuiteStore;
  readonly plan: SuitePlan;
  readonly startedAtMs: number;
  /** The cases that are finished. */
  readonly done: ReadonlySet<string>;
  /** The attempts of cases that are not. */
  readonly begun: ReadonlyMap<string, readonly Attempt[]>;
}

/** Opens the folder of a run to go on with it. Finished cases are as they were, also those whose file was lost. */
export function openSuite(
  folder: string,
  owner: SuitePlan['owner'],
  nowMs: number,
  openWriter: (folder: string) => FileWriter,
): OpenSuite {
  const fd = openJournal(folder);
  try {
    const chain = Chain.begin(folder);
    const { plan, isOurs, bytes } = stateIn(chainedLines(fd, chain, LINE_BYTES_MAX));
    if (!plan) throw new Fault('not_a_suite', 'The journal in the folder is not that of a suite that had begun.');
    if (!isOurs) throw new Fault('not_started_here', 'The run was interrupted, and not started here.');
    refuseOdd(folder);
    refuseForeign(folder);
    const journal = Journal.reopen<SuiteLine>(folder, bytes, chain);
    const store = new SuiteStore(folder, journal, openWriter);
    const done = new Set<string>();
    const begun = new Map<string, Attempt[]>();
    const assets: AssetNote[] = [];
    let startedAtMs = nowMs;
    for (const line of suiteLines(chainedLines(fd, Chain.read(folder), LINE_BYTES_MAX))) {
      if (line.is === 'planned') assets.push(...line.assets);
      if (line.is === 'begun') startedAtMs = Math.min(startedAtMs, line.atMs);
      if (line.is === 'sent') begun.set(line.id, [...(begun.get(line.id) ?? []), interrupted(line)]);
      if (line.is === 'failed') {
        assets.push(...line.assets);
        begun.set(line.id, [...(begun.get(line.id) ?? []).slice(0, -1), line.attempt]);
      }
      if (line.is === 'case' && !done.has(line.id)) {
        assets.push(...line.assets);
        store.recall(line.artifact);
        done.add(line.id);
        begun.delete(line.id);
      }
    }
    removeUnknown(folder, assets);
    store.begin(owner, nowMs, assets);
    return { store, plan, startedAtMs, done, begun };
  } finally {
    closeSync(fd);
  }
}

/** How far an open run has come. */
export interface SuiteState {
  /** What is to be done, with the owner who went on last; undefined while it is laid out, and of what is no suite. */
  readonly plan: SuitePlan | undefined;
  /** Who laid it out, or still does. */
  readonly layer: SuitePlan['owner'] | undefined;
  /** How many cases are finished. */
  readonly done: number;
  readonly startedAtMs: number | undefined;
  /** This user's Proctor began it on this machine; see `Chain`. */
  readonly isOurs: boolean;
}

/** What the journal of an open run says of it, if it is that of a suite. */
export function suiteStateIn(folder: string): SuiteState {
  const fd = openJournal(folder);
  try {
    return stateIn(chainedLines(fd, Chain.read(folder), LINE_BYTES_MAX));
  } finally {
    closeSync(fd);
  }
}

export function suitePlanIn(folder: string): SuitePlan | undefined {
  return suiteStateIn(folder).plan;
}

function stateIn(lines: Iterable<ChainedLine>): SuiteState & { readonly bytes: number } {
  let plan: SuitePlan | undefined;
  let layer: SuitePlan['owner'] | undefined;
  let done = 0;
  let startedAtMs: number | undefined;
  let isOurs = false;
  let bytes = 0;
  for (const { text, isOurs: isLineOurs, end } of lines) {
    isOurs = isLineOurs;
    bytes = end;
    const begins = text.toString('latin1', 0, 20);
    // Of a case it is enough that its line is whole.
    if (CASE_LINE.test(begins) && text.at(-1) === CLOSING_BRACE) done++;
    if (!PLAN_LINE.test(begins)) continue;
    const line = parsedLine(text);
    if (!isSuiteLine(line)) continue;
    if (line.is === 'laying') layer ??= line.owner;
    if (line.is === 'planned') plan ??= line.plan;
    if (line.is === 'begun') startedAtMs ??= line.atMs;
    if (line.is === 'begun' && plan) plan = { ...plan, owner: line.owner };
    if (line.is === 'left' && plan) plan = { ...plan, owner: NOBODY };
  }
  return { plan, layer, done, startedAtMs, isOurs, bytes };
}

/** Few lines are about the run as a whole, and the others need not be read to find them. */
const PLAN_LINE = /^\{"is":"(?:laying|planned|begun|left)"/;
const CASE_LINE = /^\{"is":"case"/;
const CLOSING_BRACE = 0x7d;

const NOBODY: SuitePlan['owner'] = { pid: 0, startTicks: 0, bootId: '' };

/** The lines that say what they should; the others are as good as not written. */
export function* suiteLines(lines: Iterable<ChainedLine>): Generator<SuiteLine> {
  for (const { text } of lines) {
    const line = parsedLine(text);
    if (isSuiteLine(line)) yield line;
  }
}

/** A case artifact, and the little that stands around it. */
export const LINE_BYTES_MAX = 32 * 1024 * 1024;

const owner = record({ pid: count(), startTicks: count(), bootId: z.string() });

const asset = record({
  href: z.string(),
  kind: z.string(),
  caseId: z.nullable(z.string()),
  bytes: count(),
  sha256: z.string(),
});

const lineShape = z.union([
  record({ is: z.literal('laying'), owner }),
  record({
    is: z.literal('planned'),
    plan: record({
      request: anyObject(),
      runner: anyObject(),
      casesPath: z.string(),
      outDir: z.string(),
      repository: z.nullable(record({ commit: z.string(), dirty: z.boolean() })),
      headers: z.array(record({ name: z.string(), env: z.string() })),
      script: z.nullable(z.string()),
      agent: z.optional(
        record({
          dir: z.string(),
          policy: z.string(),
          cwd: z.string(),
          cpus: z.optional(z.number()),
          model: z.optional(z.string()),
          maxTurns: z.optional(count()),
          maxRequests: z.optional(count()),
          maxTokens: z.optional(count()),
          maxCostUsd: z.optional(z.number()),
          prices: z.optional(z.string()),
          modelMode: z.optional(z.enum(['live', 'record', 'replay'])),
          recordings: z.optional(z.string()),
          allowUntestedVersion: z.optional(z.boolean()),
        }),
      ),
      bounds: anyObject(),
      owner,
    }),
    assets: z.array(asset),
  }),
  record({ is: z.literal('begun'), owner, atMs: count() }),
  record({ is: z.literal('left') }),
  record({ is: z.literal('sent'), id: z.string(), attempt: count(), atMs: count(), key: z.string() }),
  record({ is: z.literal('failed'), id: z.string(), attempt: anyObject(), assets: z.array(asset) }),
  record({ is: z.literal('case'), id: z.string(), assets: z.array(asset), artifact: anyObject() }),
]);

function isSuiteLine(line: unknown): line is SuiteLine {
  if (!formOf(lineShape).fits(line)) return false;
  const { is, plan, artifact } = line as { is: string; plan?: SuitePlan; artifact?: CaseArtifact };
  const plain = { strict: false, internal: false };
  if (is === 'planned') return check(suiteRequest, plan?.request, plain).violations.length === 0;
  return is !== 'case' || check(caseArtifact, artifact, plain).violations.length === 0;
}

/** A request that went out, and of whose answer nobody knows. */
function interrupted({ attempt, atMs, key }: Extract<SuiteLine, { is: 'sent' }>): Attempt {
  return {
    attempt,
    started_at: new Date(atMs).toISOString(),
    outcome: 'runner_error',
    error_class: 'other',
    idempotency_key: key,
    note: 'Proctor was interrupted while it waited for the answer.',
  };
}

/** Files that were stored a moment before the journal would have named them. */
function removeUnknown(folder: string, assets: readonly AssetNote[]): void {
  const known = new Set(assets.map(({ href }) => href));
  for (const entry of readdirSync(path.join(folder, 'assets'))) {
    if (!known.has(`assets/${entry}`)) rmSync(path.join(folder, 'assets', entry), { force: true, recursive: true });
  }
}
