import * as z from 'zod/mini';
import { contentHash } from '../../base/hash.ts';
import { ARTIFACT_ASKS, caseId, folderName, side } from '../artifacts/words.ts';
import { type Contract, MIB } from '../contract.ts';
import { STATED_PROVENANCE_ASKS, statedProvenance } from '../provenance.ts';
import { askedLimits } from '../gate/limits/shape.ts';
import { LIMIT_ASKS, limitFindings } from '../gate/limits/findings.ts';
import { PROJECT_NAME } from '../project/shape.ts';
import { must, rulesFor, versionRule } from '../rule.ts';
import { SHARDS_MAX, shardSize } from './shard.ts';
import { type SuiteTarget, suiteTargetShape } from './target.ts';
import { between, contentHashText, count, filledText, matching, record } from '../shape.ts';

const positive = () => z.int().check(z.gte(1));

export const REPETITIONS_MAX = 1_000;

/** More rounds than any case needs to reach a decision. */
export const ROUNDS_MAX = 100;

const pinned = () => record({ sha256: contentHashText(), bytes: count(), count: count() });

const HEX_64 = /^[0-9a-f]{64}$/;
const SALT = '64 lower-case hexadecimal digits';

const passes = record({ passes: count(), trials: count() });

/** The limits of every attempt. */
export const suiteSettingsShape = record({
  timeout_ms: count(),
  idle_timeout_ms: count(),
  retries: count(),
  concurrency: positive(),
  max_body_bytes: count(),
  max_inline_snippet_bytes: count(),
  max_payload_inline_bytes: count(),
  breaker_failures: count(),
});

const suiteRequestShape = record({
  schema_version: z.literal('suite-request.v1'),
  run_id: folderName(),
  kind: z.literal('suite'),
  version: side(),
  /** The position of this run among the repetitions of the suite. `of` is the run_id of the first. */
  repetition: record({ of: folderName(), number: positive(), total: positive().check(z.lte(REPETITIONS_MAX)) }),
  target: suiteTargetShape,
  target_sha256: contentHashText(),
  cases: pinned(),
  only: z.nullable(z.array(caseId())),
  /** The run is one part of a suite: every `total`-th case, from the one at `index`. `all` are the cases of all parts. */
  shard: z.optional(record({ index: positive(), total: positive().check(z.lte(SHARDS_MAX)), all: pinned() })),
  /** The run was merged from parts, which evidence/parts.ndjson lists. `missing` are the parts that it lacks. */
  merged: z.optional(
    record({
      parts: positive().check(z.lte(SHARDS_MAX)),
      all: pinned(),
      missing: z.array(record({ index: positive(), cases: positive() })),
    }),
  ),
  /** The name of the suite in the project file. Absent if the suite was not run by that name. */
  suite: z.optional(matching(PROJECT_NAME, 'a name of lower-case letters, digits, "-" and "_"')),
  settings: suiteSettingsShape,
  secret_names: z.array(filledText()),
  /** The provenance that the caller stated. */
  provenance: z.optional(statedProvenance),
  /** Another machine or user started the run and answered this many cases. Absent if the run started here. */
  begun_elsewhere: z.optional(record({ cases_done: count() })),
  /** Present if the run repeats suspect cases; absent for a planned run. */
  rerun: z.optional(
    record({
      /** The first run of the group. */
      of: folderName(),
      round: positive().check(z.lte(ROUNDS_MAX)),
      /** Why each case is repeated: its earlier trials, and their probability if nothing changed. */
      cases: z.array(record({ case_id: caseId(), baseline: passes, new: passes, p: between(0, 1) })),
    }),
  ),
  /** Well-known credentials are stored unmasked. Absent if they are masked. */
  keep_credentials: z.optional(z.literal(true)),
  /** Workers made the attempts. Absent if the process that ran the suite made them. */
  queued: z.optional(z.literal(true)),
  /** A second worker makes a share of the attempts again. The salt selects them, and workers do not know it. */
  twice: z.optional(record({ share: z.number().check(z.gt(0), z.lte(1)), salt: matching(HEX_64, SALT) })),
  /** The limits that the run must meet. */
  gate: z.optional(askedLimits),
});

export type SuiteRequest = z.infer<typeof suiteRequestShape>;

const rule = rulesFor<SuiteRequest>();

const rules = [
  versionRule('SU1', 'Suite Request Version Known', 'suite-request.v1', 'a request'),
  rule({
    id: 'SU2',
    title: 'Suite Run Identified',
    why: 'Repetitions count as trials of one suite only if they name the same first run.',
    asks: [
      'run_id is a valid folder name, kind is "suite", and version is baseline or new',
      'repetition has of (the run_id of the first repetition), number and total (positive integers)',
      'number is at most total, and total is at most 1,000',
      'run_id equals of; from the second repetition on, a dot and the number follow',
      'rerun, if present, has of (a run of the same side), round (1 to 100) and cases (the same as in only)',
      'each case of rerun has case_id, baseline and new (passes and trials so far), and p (0 to 1)',
      'the run_id of a rerun is of, a dot, the letter a and the round',
      'begun_elsewhere, if present, has cases_done, the number of cases answered before the run was resumed here',
    ],
    fields: ['run_id', 'kind', 'version', 'repetition', 'rerun', 'begun_elsewhere'],
    reads: ['only'],
    *check({ run_id, repetition: { of, number, total }, rerun, only }) {
      if (number > total) yield must('repetition.number', `must be at most ${total}, the total`);
      const id = repetitionId(of, number);
      if (run_id !== id) yield must('run_id', 'does not match repetition');
      if (rerun) {
        if (run_id !== rerunId(rerun.of, rerun.round)) yield must('run_id', 'does not match rerun');
        const asked = rerun.cases.map(({ case_id }) => case_id);
        if (asked.join() !== (only ?? []).join()) yield must('rerun.cases', 'must be the same as in only');
      }
    },
    breach: request => ({ ...request, repetition: { ...request.repetition, number: 9 } }),
  }),
  rule({
    id: 'SU3',
    title: 'Target Named',
    why: 'A comparison is meaningful only if the target of each run is known.',
    asks: [
      'target has kind: http, declared, script or agent',
      'http has url, header_names (lower-case names, without values) and redirects (true or false)',
      'http may have replies, strict or lenient; the run folder then contains every reply',
      ...ARTIFACT_ASKS.targetUrl,
      'declared has name, replies (strict or lenient) and declaration, a target.v1 document without secrets',
      'declared has sandbox and isolation if the target is a program',
      'script has name, sha256, bytes, sandbox and isolation',
      'agent has name (lower case), version, sha256 of its program, policy, policy_sha256, sandbox and isolation',
      'agent may have model (not empty), max_turns, max_requests and max_tokens (at least 1), and max_cost_usd (at least 0)',
      'agent may have prices_sha256, the content hash of the price file',
      'agent may have model_mode (record or replay) and allow_untested_version (true)',
      'agent may have base, the commit that cases start from',
      'agent may have work: agents (name, version, sha256) and policies (name, sha256) that cases name',
      'work also has checks (name, sha256) and mounts (path, sha256) of every case, and contents (of, path, sha256)',
      'of is overlay, files, mount or repository',
      'target_sha256 is the content hash of target',
      `provenance, if present, may have ${STATED_PROVENANCE_ASKS}: one line each, with 1 to 200 characters`,
    ],
    fields: ['target', 'target_sha256', 'provenance'],
    *check({ target, target_sha256 }) {
      if (contentHash(target) !== target_sha256) yield must('target_sha256', 'is not the content hash of target');
    },
    breach: request => ({ ...request, target_sha256: `sha256:${'0'.repeat(64)}` }),
  }),
  rule({
    id: 'SU4',
    title: 'Cases Pinned',
    why: 'The exact cases must be known, even if the original file is gone.',
    asks: [
      'cases has the sha256 and bytes of assets/cases.ndjson, and count (the number of its lines)',
      'only is null, or the list of selected case ids',
      'shard, if present, has index and total (positive integers, index at most total, total at most 256)',
      'shard also has all: sha256, bytes and count of the cases of all shards, in file order',
      'count in cases is the number of every total-th case of all, from the one at index',
      'merged, if present, has parts (how many, at most 256), all as in shard, and missing (index and cases of each missing shard)',
      'a run does not have both shard and merged',
      'suite, if present, is the name of the suite in the project file: lower-case letters, digits, "-" and "_"',
    ],
    fields: ['cases', 'only', 'suite', 'shard', 'merged'],
    *check({ cases, shard, merged }) {
      if (shard && shard.index > shard.total) yield must('shard.index', `must be at most ${shard.total}, the total`);
      else if (shard && cases.count !== shardSize(shard.all.count, shard))
        yield must('cases.count', 'is not the number of cases in this shard');
      if (shard && merged) yield must('merged', 'must be absent, because the run is a shard');
    },
    breach: request => ({ ...request, cases: { ...request.cases, sha256: 'sha256:12' } }),
  }),
  rule({
    id: 'SU5',
    title: 'Bounds Of Every Attempt',
    why: 'Time and retry limits affect the results, so both sides must state them.',
    asks: [
      'settings has timeout_ms, idle_timeout_ms, retries and breaker_failures, non-negative integers',
      'settings has concurrency, a positive integer',
      'settings has max_body_bytes, max_inline_snippet_bytes and max_payload_inline_bytes, non-negative integers',
      'secret_names is a list of names that are not empty; the values are never stored',
      'keep_credentials, if present, is true: well-known credentials are not masked',
      'queued, if present, is true: workers made the attempts',
      'twice, if present, has share (more than 0, at most 1) and salt (64 lower-case hexadecimal digits); it requires queued',
    ],
    fields: ['settings', 'secret_names', 'keep_credentials', 'queued', 'twice'],
    *check({ queued, twice }) {
      if (twice && !queued) yield must('twice', 'must be absent without queued');
    },
    breach: request => ({ ...request, settings: { ...request.settings, concurrency: 0 } }),
  }),
  rule({
    id: 'SU6',
    title: 'Limits Asked',
    why: 'Limits are recorded before the first case is sent, so they cannot be changed after the last.',
    asks: ['gate, if present, has limits as in a gate file', ...LIMIT_ASKS],
    fields: ['gate'],
    *check({ gate }) {
      if (gate) yield* limitFindings(gate, 'gate');
    },
    breach: request => ({ ...request, gate: { limits: {} } }),
  }),
];

export function repetitionId(of: string, number: number): string {
  return number === 1 ? of : `${of}.${number}`;
}

export function rerunId(of: string, round: number): string {
  return `${of}.a${round}`;
}

const exampleTarget: SuiteTarget = {
  kind: 'http',
  url: 'https://agent.example.com/v2',
  header_names: ['authorization'],
  redirects: false,
};

const example: SuiteRequest = {
  schema_version: 'suite-request.v1',
  run_id: 'suite_20260106_120000_4f1c9a7be210.2',
  kind: 'suite',
  version: 'new',
  repetition: { of: 'suite_20260106_120000_4f1c9a7be210', number: 2, total: 3 },
  target: exampleTarget,
  target_sha256: contentHash(exampleTarget),
  cases: {
    sha256: 'sha256:e3b1c442a8fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b8aa',
    bytes: 1_874,
    count: 3,
  },
  only: null,
  suite: 'refunds',
  settings: {
    timeout_ms: 15_000,
    idle_timeout_ms: 15_000,
    retries: 2,
    concurrency: 4,
    max_body_bytes: 2_000_000,
    max_inline_snippet_bytes: 4_000,
    max_payload_inline_bytes: 65_536,
    breaker_failures: 20,
  },
  secret_names: ['AGENT_TOKEN'],
  gate: { limits: { max_failing: 0 } },
};

export const suiteRequest: Contract = {
  name: 'suite-request',
  title: 'Suite request',
  tells: 'The request for a suite run: the cases, the target, the side and the limits.',
  source: 'Proctor run folder',
  version: { field: 'schema_version', value: 'suite-request.v1' },
  shape: suiteRequestShape,
  rules,
  unknownKeys: 'SU1',
  programText: ['target'],
  beyond: ['whether the target has changed since', 'the values of the headers'],
  bytesMax: 16 * MIB,
  example,
};
