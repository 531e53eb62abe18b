import { closeSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import * as z from 'zod/mini';
import { Fault } from '../../base/fault.ts';
import { type CaseArtifact, caseArtifact } from '../../contracts/artifacts/index.ts';
import { formOf } from '../../contracts/form.ts';
import { type TwiceCase, twiceCaseShape } from '../../contracts/made-twice/index.ts';
import { anyObject, count, record } from '../../contracts/shape.ts';
import { storesReplies, suiteRequest, type SuiteTarget } from '../../contracts/suite/index.ts';
import { JournalChain, type ChainedLine, chainedLines } from '../run-folder/chain.ts';
import { Journal, openJournal, parsedLine } from '../run-folder/journal.ts';
import { refuseForeign, refuseOdd } from '../run-folder/own-file.ts';
import { hasShape, keepsContract } from '../document.ts';
import { keepOutcomes, OUTCOME_LOG, signedOutcomes } from './outcome-log.ts';
import { keepReplies, REPLIES, replyName, storedReplies } from './reply-log.ts';
import type { AssetNote, Attempt, SuiteLine, SuitePlan } from './suite-run.ts';
import { type FileWriter, SuiteStore } from './suite-store.ts';

/** A suite run that has not started yet or was interrupted. */
export interface OpenSuite {
  readonly store: SuiteStore;
  readonly plan: SuitePlan;
  readonly startedAtMs: number;
  /** The ids of finished cases. */
  readonly done: ReadonlySet<string>;
  /** The attempts of unfinished cases, by id. */
  readonly begun: ReadonlyMap<string, readonly Attempt[]>;
}

/**
 * Opens a run folder to resume it. Finished cases stay finished; their files are restored from the journal if
 * missing.
 */
export function openSuite(
  folder: string,
  owner: SuitePlan['owner'],
  nowMs: number,
  openWriter: (folder: string) => FileWriter,
): OpenSuite {
  const fd = openJournal(folder);
  try {
    const chain = JournalChain.begin(folder);
    const { plan, isOurs, bytes } = stateIn(chainedLines(fd, chain, SUITE_LINE_BYTES_MAX));
    if (!plan) throw new Fault('not_a_suite', 'The journal does not belong to a suite run that started.');
    if (!isOurs)
      throw new Fault('not_started_here', 'The run was interrupted, and you did not start it on this machine.');
    refuseOdd(folder);
    refuseForeign(folder);
    const journal = Journal.reopen<SuiteLine>(folder, bytes, chain);
    const store = new SuiteStore(folder, journal, openWriter);
    const done = new Set<string>();
    const begun = new Map<string, Attempt[]>();
    const assets: AssetNote[] = [];
    const replies = storedReplies(folder);
    const proven = new Set<string>();
    const outcomes = signedOutcomes(folder);
    const hasOutcome = ({ outcome_sha256: sha256 }: Attempt): boolean => sha256 === undefined || outcomes.has(sha256);
    const isAnswered = answeredIn(plan.request.target, replies.hashes);
    const isFinished = ({ artifact, twice }: CaseLine): boolean =>
      isAnswered(artifact) && outcomesOf(artifact.attempts, twice).every(sha256 => outcomes.has(sha256));
    const signed = new Set<string>();
    let startedAtMs = nowMs;
    for (const line of suiteLines(chainedLines(fd, JournalChain.read(folder), SUITE_LINE_BYTES_MAX))) {
      if (line.is === 'planned' || line.is === 'left') assets.push(...(line.assets ?? []));
      if (line.is === 'begun') startedAtMs = Math.min(startedAtMs, line.atMs);
      if (line.is === 'sent') {
        const before = attemptsBefore(line.attempt, begun.get(line.id));
        begun.set(line.id, line.pending ? before : [...before, interrupted(line)]);
      }
      if (line.is === 'failed' && hasOutcome(line.attempt)) {
        assets.push(...line.assets);
        begun.set(line.id, [...attemptsBefore(line.attempt.attempt, begun.get(line.id)), line.attempt]);
      }
      if (line.is === 'case' && !done.has(line.id) && isFinished(line)) {
        assets.push(...line.assets);
        store.recall(line.artifact, line.twice);
        const last = line.artifact.attempts?.at(-1);
        if (last?.reply_sha256 !== undefined) proven.add(replyName(line.id, last.attempt));
        for (const sha256 of outcomesOf(line.artifact.attempts, line.twice)) signed.add(sha256);
        done.add(line.id);
        begun.delete(line.id);
      }
    }
    keepReplies(folder, replies, proven);
    for (const attempts of begun.values()) for (const sha256 of outcomesOf(attempts)) signed.add(sha256);
    keepOutcomes(folder, signed);
    removeUnknown(folder, assets);
    store.begin(owner, nowMs, assets);
    return { store, plan, startedAtMs, done, begun };
  } finally {
    closeSync(fd);
  }
}

export interface SuiteState {
  /** The plan, with the latest owner; undefined while the suite is being set up, or if this is not a suite. */
  readonly plan: SuitePlan | undefined;
  /** The process that set up the suite, or is still setting it up. */
  readonly layer: SuitePlan['owner'] | undefined;
  /** The number of finished cases. */
  readonly done: number;
  readonly startedAtMs: number | undefined;
  /** This user's Proctor started it on this machine; see `JournalChain`. */
  readonly isOurs: boolean;
}

/** Reads the state of an open suite run from its journal. */
export function suiteStateIn(folder: string): SuiteState {
  const fd = openJournal(folder);
  try {
    return stateIn(chainedLines(fd, JournalChain.read(folder), SUITE_LINE_BYTES_MAX));
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
    // A complete line is enough to count a case.
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

/** Matches the few lines that concern the whole run, so that the others need not be parsed. */
const PLAN_LINE = /^\{"is":"(?:laying|planned|begun|left)"/;
const CASE_LINE = /^\{"is":"case"/;
const CLOSING_BRACE = 0x7d;

const NOBODY: SuitePlan['owner'] = { pid: 0, startTicks: 0, bootId: '' };

/** Skips lines that are not valid. */
export function* suiteLines(lines: Iterable<ChainedLine>): Generator<SuiteLine> {
  for (const { text } of lines) {
    const line = parsedLine(text);
    if (isSuiteLine(line)) yield line;
  }
}

/** Enough for a case artifact and the fields around it. */
export const SUITE_LINE_BYTES_MAX = 32 * 1024 * 1024;

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
          base: z.optional(z.string()),
          mounts: z.optional(z.array(record({ dir: z.string(), path: z.optional(z.string()) }))),
          checks: z.optional(
            z.array(
              record({
                name: z.optional(z.string()),
                command: z.string(),
                timeoutMs: z.optional(count()),
                memoryBytes: z.optional(count()),
                pids: z.optional(count()),
                overlay: z.optional(z.string()),
                paths: z.optional(z.array(z.string())),
                report: z.optional(z.string()),
                keep: z.optional(z.array(z.string())),
              }),
            ),
          ),
          casesDir: z.optional(z.string()),
          commits: z.optional(z.string()),
        }),
      ),
      declared: z.optional(record({ dir: z.string(), version: z.optional(z.string()) })),
      bounds: anyObject(),
      owner,
    }),
    assets: z.array(asset),
  }),
  record({ is: z.literal('begun'), owner, atMs: count() }),
  record({ is: z.literal('left'), assets: z.optional(z.array(asset)) }),
  record({
    is: z.literal('sent'),
    id: z.string(),
    attempt: count(),
    atMs: count(),
    key: z.string(),
    pending: z.optional(z.literal(true)),
  }),
  record({ is: z.literal('running'), id: z.string(), attempt: count(), runId: z.string() }),
  record({ is: z.literal('failed'), id: z.string(), attempt: anyObject(), assets: z.array(asset) }),
  record({
    is: z.literal('case'),
    id: z.string(),
    assets: z.array(asset),
    artifact: anyObject(),
    twice: z.optional(twiceCaseShape),
  }),
]);

function isSuiteLine(line: unknown): line is SuiteLine {
  if (!hasShape(line, lineShape)) return false;
  const { is, plan, artifact } = line as { is: string; plan?: SuitePlan; artifact?: CaseArtifact };
  // A plan with unknown keys may have settings that this version would silently ignore.
  if (is === 'planned') return formOf(lineShape).fits(line) && keepsContract(plan?.request, suiteRequest);
  return is !== 'case' || keepsContract(artifact, caseArtifact);
}

/** The attempts before this number. A repeated line about the same attempt replaces the one before. */
function attemptsBefore(number: number, attempts: readonly Attempt[] = []): Attempt[] {
  return attempts.filter(({ attempt }) => attempt < number);
}

type CaseLine = Extract<SuiteLine, { is: 'case' }>;

/** The outcomes of a case, with that of a second worker. */
function outcomesOf(attempts: readonly Attempt[] = [], twice?: TwiceCase): string[] {
  const own = attempts.flatMap(({ outcome_sha256: sha256 }) => sha256 ?? []);
  return twice?.second ? [...own, twice.second.outcome_sha256] : own;
}

/** A request without a known answer. */
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

/** Tests whether nothing is left to ask. A case without its stored reply is sent again, because nothing proves its answer. */
function answeredIn(target: SuiteTarget, replies: ReadonlyMap<string, string>): (artifact: CaseArtifact) => boolean {
  const isProofRequired = storesReplies(target);
  return ({ case_id, status, attempts = [] }) => {
    const last = attempts.at(-1);
    if (last?.reply_sha256 === undefined) return status !== 'ok' || !isProofRequired;
    return replies.get(replyName(case_id, last.attempt)) === last.reply_sha256;
  };
}

/** Removes files that were stored, but not yet listed in the journal. */
function removeUnknown(folder: string, assets: readonly AssetNote[]): void {
  const known = new Set([REPLIES, OUTCOME_LOG, ...assets.map(({ href }) => href)]);
  for (const entry of readdirSync(path.join(folder, 'assets'))) {
    if (!known.has(`assets/${entry}`)) rmSync(path.join(folder, 'assets', entry), { force: true, recursive: true });
  }
}
