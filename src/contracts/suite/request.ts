import * as z from 'zod/mini';
import { contentHash } from '../../base/hash.ts';
import { ASKS as ARTIFACT_ASKS, caseId, folderName, side, targetUrl } from '../artifacts/words.ts';
import { type Contract, MIB } from '../contract.ts';
import { STATED_PROVENANCE_ASKS, statedProvenance } from '../provenance.ts';
import { askedLimits } from '../gate/limits/shape.ts';
import { LIMIT_ASKS, limitFindings } from '../gate/limits/findings.ts';
import { must, rulesFor } from '../rule.ts';
import { between, contentHashText, count, filledText, matching, record } from '../shape.ts';

const headerName = () => matching(/^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/, 'the name of a header in lower case');

const positive = () => z.int().check(z.gte(1));

const target = z.union([
  record({ kind: z.literal('http'), url: targetUrl(), header_names: z.array(headerName()), redirects: z.boolean() }),
  record({
    kind: z.literal('script'),
    name: filledText(),
    sha256: contentHashText(),
    bytes: count(),
    sandbox: z.enum(['none', 'process', 'container', 'vm']),
    isolation: z.enum(['strict', 'standard', 'none']),
  }),
  record({
    kind: z.literal('agent'),
    name: matching(/^[a-z][a-z0-9-]{0,30}$/, 'the name of an agent in lower case'),
    version: filledText(),
    /** Of its program. */
    sha256: contentHashText(),
    policy: filledText(),
    policy_sha256: contentHashText(),
    sandbox: z.enum(['none', 'process', 'container', 'vm']),
    isolation: z.enum(['strict', 'standard', 'none']),
    model: z.optional(filledText()),
    max_turns: z.optional(positive()),
    /** Counted at the door to the model. */
    max_requests: z.optional(positive()),
    max_tokens: z.optional(positive()),
    max_cost_usd: z.optional(z.number().check(z.gte(0))),
    /** Of the prices by which the door counts cost. */
    prices_sha256: z.optional(contentHashText()),
    /** Absent where the model answers, and nothing is recorded. */
    model_mode: z.optional(z.enum(['record', 'replay'])),
    allow_untested_version: z.optional(z.literal(true)),
  }),
]);

export const REPETITIONS_MAX = 1_000;

/** More rounds than any case needs until it is settled. */
export const ROUNDS_MAX = 100;

const passes = record({ passes: count(), trials: count() });

const suiteRequestShape = record({
  schema_version: z.literal('suite-request.v1'),
  run_id: folderName(),
  kind: z.literal('suite'),
  version: side(),
  /** Which of how many repetitions of the same suite this run is; the first gives all of them their name. */
  repetition: record({ of: folderName(), number: positive(), total: positive().check(z.lte(REPETITIONS_MAX)) }),
  target,
  target_sha256: contentHashText(),
  cases: record({ sha256: contentHashText(), bytes: count(), count: count() }),
  only: z.nullable(z.array(caseId())),
  settings: record({
    timeout_ms: count(),
    idle_timeout_ms: count(),
    retries: count(),
    concurrency: positive(),
    max_body_bytes: count(),
    max_inline_snippet_bytes: count(),
    max_payload_inline_bytes: count(),
    breaker_failures: count(),
  }),
  secret_names: z.array(filledText()),
  /** What the agent was made of, as whoever started the run says. */
  provenance: z.optional(statedProvenance),
  /** Another machine or user began the run, and so many cases were answered there. Absent for a run that was begun here. */
  begun_elsewhere: z.optional(record({ cases_done: count() })),
  /** Cases that looked broken were asked once more. Absent for a run that was planned. */
  rerun: z.optional(
    record({
      /** The first of the runs that this one belongs to. */
      of: folderName(),
      round: positive().check(z.lte(ROUNDS_MAX)),
      /** Why each case was asked: what its trials showed before, and how likely that is if nothing had changed. */
      cases: z.array(record({ case_id: caseId(), baseline: passes, new: passes, p: between(0, 1) })),
    }),
  ),
  /** Well-known credentials are stored as they were answered. Absent where they are masked. */
  keep_credentials: z.optional(z.literal(true)),
  /** The limits that the run must keep to. */
  gate: z.optional(askedLimits),
});

export type SuiteRequest = z.infer<typeof suiteRequestShape>;

export type SuiteTarget = z.infer<typeof target>;

const rule = rulesFor<SuiteRequest>();

const rules = [
  rule({
    id: 'SU1',
    title: 'Suite Request Version Known',
    why: 'A reader must know by which rules a request was written before it believes a word of it.',
    asks: ['schema_version is "suite-request.v1"', 'should (must, when strict): no key is unknown'],
    fields: ['schema_version'],
    breach: request => ({ ...request, schema_version: 'suite-request.v9' }),
  }),
  rule({
    id: 'SU2',
    title: 'Suite Run Identified',
    why: 'Repetitions are trials of one thing only if they say which one.',
    asks: [
      'run_id is the name of one folder, kind is "suite", version is baseline or new',
      'repetition has of, the run_id of the first one, number and total, whole numbers from 1 up',
      'number is not more than total, and total not more than 1,000',
      'run_id is that of the first repetition, and from the second one on a dot and its number follow',
      'rerun, if present, has of, a run of the same side, round, from 1 to 100, and cases, those that only names',
      'each case of rerun has case_id, baseline and new, its passes and trials until then, and p, from 0 to 1',
      'run_id of a rerun is of, a dot, the letter a and the round',
      'begun_elsewhere, if present, has cases_done, the number of cases that were answered before the run was resumed here',
    ],
    fields: ['run_id', 'kind', 'version', 'repetition', 'rerun', 'begun_elsewhere'],
    reads: ['only'],
    *check({ run_id, repetition: { of, number, total }, rerun, only }) {
      if (number > total) yield must('repetition.number', `must be at most ${total}, the total`);
      const id = repetitionId(of, number);
      if (run_id !== id) yield must('run_id', 'is not that of the repetition it says it is');
      if (rerun) {
        if (run_id !== rerunId(rerun.of, rerun.round)) yield must('run_id', 'is not that of the round it says it is');
        const asked = rerun.cases.map(({ case_id }) => case_id);
        if (asked.join() !== (only ?? []).join()) yield must('rerun.cases', 'must be those that only names');
      }
    },
    breach: request => ({ ...request, repetition: { ...request.repetition, number: 9 } }),
  }),
  rule({
    id: 'SU3',
    title: 'Target Named',
    why: 'Two runs say something about two versions only if it is known what was asked in each.',
    asks: [
      'target has kind, http, script or agent',
      'http has url, header_names, a list of names in lower case without their values, and redirects, true or false',
      ...ARTIFACT_ASKS.targetUrl,
      'script has name, sha256, bytes, sandbox and isolation',
      'agent has name, in lower case, version, sha256 of its program, policy and policy_sha256, sandbox and isolation',
      'agent may have model, which is not empty, max_turns, max_requests and max_tokens, from 1 up, and max_cost_usd, from 0 up',
      'agent may have prices_sha256, the content hash of the prices by which its cost is counted',
      'agent may have model_mode, record or replay, and allow_untested_version, which is true',
      'target_sha256 is the content hash of target',
      `provenance, if present, may have ${STATED_PROVENANCE_ASKS}: texts on one line, with 1 to 200 characters`,
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
    why: 'What was asked must be known to the byte, wherever the original file is now.',
    asks: [
      'cases has sha256 and bytes of assets/cases.ndjson, and count, the number of its lines',
      'only is null, or the list of the case ids that were chosen',
    ],
    fields: ['cases', 'only'],
    breach: request => ({ ...request, cases: { ...request.cases, sha256: 'sha256:12' } }),
  }),
  rule({
    id: 'SU5',
    title: 'Bounds Of Every Attempt',
    why: 'A slower setting makes another agent of the same agent.',
    asks: [
      'settings has timeout_ms, idle_timeout_ms, retries and breaker_failures, whole numbers from 0 up',
      'settings has concurrency, a whole number from 1 up',
      'settings has max_body_bytes, max_inline_snippet_bytes and max_payload_inline_bytes, whole numbers from 0 up',
      'secret_names is a list of names that are not empty; their values stand nowhere',
      'keep_credentials, if present, is true: well-known credentials are not masked',
    ],
    fields: ['settings', 'secret_names', 'keep_credentials'],
    breach: request => ({ ...request, settings: { ...request.settings, concurrency: 0 } }),
  }),
  rule({
    id: 'SU6',
    title: 'Limits Asked',
    why: 'A limit that is written down before the first case is sent cannot be moved after the last one.',
    asks: ['gate, if present, has limits as in a gate file', ...LIMIT_ASKS],
    fields: ['gate'],
    *check({ gate }) {
      if (gate) yield* limitFindings(gate, 'gate');
    },
    breach: request => ({ ...request, gate: { limits: {} } }),
  }),
];

/** The run id of a repetition: the first gives it, the others add their number. */
export function repetitionId(of: string, number: number): string {
  return number === 1 ? of : `${of}.${number}`;
}

/** The run id of a round in which cases of a run were asked again. */
export function rerunId(of: string, round: number): string {
  return `${of}.a${round}`;
}

/** Whom a run asked, as run.json names it. */
export function targetName(target: SuiteTarget): string {
  return target.kind === 'http' ? target.url : `${target.kind}:${target.name}`;
}

/** Where its cases were sent, as failures name it. */
export function askedAt(target: SuiteTarget): string {
  return target.kind === 'http' ? caseUrl(target.url) : targetName(target);
}

/** Where an agent behind an address takes its cases. */
export function caseUrl(baseUrl: string): string {
  const url = new URL(baseUrl);
  url.pathname = `${url.pathname.replace(/\/$/, '')}/run-case`;
  return url.href;
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
  tells: 'What was asked for: which cases, of which target, as which side, and within which bounds.',
  source: 'Run folder of Proctor',
  version: { field: 'schema_version', value: 'suite-request.v1' },
  shape: suiteRequestShape,
  rules,
  unknownKeys: 'SU1',
  programText: ['target'],
  beyond: ['whether the target still is what it was', 'which values the headers had'],
  bytesMax: 16 * MIB,
  example,
};
