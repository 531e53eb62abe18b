import * as z from 'zod/mini';
import { placeOf } from '../../base/place.ts';
import { STEP_ASKS as NAME_ASKS } from '../agent-step/words.ts';
import { REPAIRS_ASK } from '../artifacts/repairs.ts';
import { ARTIFACT_ASKS, caseId, folderName } from '../artifacts/words.ts';
import { trialKeys } from '../comparison/trial.ts';
import { type Contract, MIB } from '../contract.ts';
import { formOf } from '../form.ts';
import { firstRepeated } from '../lists.ts';
import { type Finding, must, rulesFor, should, versionRule } from '../rule.ts';
import { innerEnvelopeShape } from '../seal/index.ts';
import { contentHashText, count, instant, record } from '../shape.ts';
import { type BareBaseline, sealedBaseline, sealFindings } from './seal.ts';

export { baselineSealHash, sealedBaseline } from './seal.ts';

/** The size limit of a baseline's pack, which is committed with it. */
export const BASELINE_PACK_BYTES_MAX = 32 * MIB;

const accepted = record({ case_sha256: contentHashText(), trials: z.array(record(trialKeys)) });

const baselineShape = record({
  schema_version: z.literal('baseline.v1'),
  accepted_at: instant(),
  run_ids: z.array(folderName()).check(z.minLength(1)),
  seals: z.array(contentHashText()),
  environment_hash: z.nullable(contentHashText()),
  target_sha256: z.nullable(contentHashText()),
  cases_sha256: z.nullable(contentHashText()),
  /** The settings of the runs, keyed by the names that drift reports use. */
  conditions: z.optional(z.record(z.string(), z.string())),
  cases: z.record(z.string(), accepted),
  /** The file next to the baseline that stores cases, events and outputs. */
  pack: z.optional(
    record({
      sha256: contentHashText(),
      bytes: count().check(z.lte(BASELINE_PACK_BYTES_MAX)),
      artifacts: count(),
      left_out: count(),
    }),
  ),
  /** Absent in older baselines. */
  seal: z.optional(innerEnvelopeShape),
});

export type Baseline = z.infer<typeof baselineShape>;

type AcceptedTrial = Baseline['cases'][string]['trials'][number];

const rule = rulesFor<Baseline>();

const rules = [
  versionRule('BL1', 'Baseline Version Known', 'baseline.v1', 'a baseline'),
  rule({
    id: 'BL2',
    title: 'Accepted Runs Sealed',
    why: 'As long as the runs behind a baseline are kept, anyone must be able to check it against them.',
    asks: [
      'accepted_at is an instant',
      ...NAME_ASKS.instant,
      'run_ids is a list of unique folder names, at least one',
      'seals is a list of content hashes, one per run',
    ],
    fields: ['accepted_at', 'run_ids', 'seals'],
    *check({ run_ids, seals }) {
      const repeated = firstRepeated(run_ids);
      if (repeated !== undefined) yield must(`run_ids[${repeated}]`, 'is a duplicate');
      if (seals.length !== run_ids.length) yield must('seals', 'must have one entry per run');
    },
    breach: baseline => ({ ...baseline, seal: undefined, seals: [] }),
  }),
  rule({
    id: 'BL3',
    title: 'Surroundings Kept',
    why: 'Drift can be detected only against recorded conditions.',
    asks: [
      'environment_hash, target_sha256 and cases_sha256 are content hashes, or null if unknown or different between runs',
      'conditions, if present, is an object whose values are strings',
    ],
    fields: ['environment_hash', 'target_sha256', 'cases_sha256', 'conditions'],
    breach: baseline => ({ ...baseline, conditions: { 'settings.retries': 2 } }),
  }),
  rule({
    id: 'BL4',
    title: 'Accepted Cases Whole',
    why: 'A case with fewer trials than runs would be compared with the wrong trials.',
    asks: [
      'cases is an object; each key is a case id, unique, ignoring letter case',
      ...ARTIFACT_ASKS.caseId,
      'each case has case_sha256 (a content hash) and trials (one per run, in the order of the runs)',
      'a trial has verdict (pass, fail or error), and error_class, output_hash, latency_ms, cost_usd and score (each may be null)',
      'latency_ms and cost_usd are at least 0; score is from 0 to 1',
      `ttft_ms, if present, is the time to the first token, a non-negative number; ${REPAIRS_ASK}`,
      'a trial without an answer may have failure, with the HTTP status and latency_ms of its last attempt (each may be null)',
      'error_class is null unless verdict is error',
    ],
    fields: ['cases'],
    reads: ['run_ids'],
    *check({ cases, run_ids }) {
      const ids = Object.keys(cases);
      const repeated = firstRepeated(ids.map(id => id.toLowerCase()));
      if (repeated !== undefined) yield must(placeOf('cases', ids[repeated] as string), 'repeats an earlier id');
      for (const [id, one] of Object.entries(cases)) yield* caseFindings(id, one, run_ids.length);
    },
    breach: ({ cases, ...rest }) => ({
      ...rest,
      seal: undefined,
      cases: Object.fromEntries(Object.entries(cases).map(([id, one]) => [id, { ...one, trials: [] }])),
    }),
  }),
  rule({
    id: 'BL5',
    title: 'Baseline Sealed',
    why: 'A baseline is committed and copied. Its seal shows that it has not changed since it was accepted.',
    asks: [
      'seal is a DSSE envelope like that of a judgement, with kind baseline; JS1 to JS5 apply',
      'its only file has the SHA-256 and size of the baseline without seal, as canonical JSON with a trailing line feed',
      'it refers to the runs in run_ids and their seals, and optionally to evaluations of them',
      'its sealed_at equals accepted_at',
      'should: seal is present; compare rejects a baseline without one',
    ],
    fields: ['seal'],
    reads: [
      'schema_version',
      'accepted_at',
      'run_ids',
      'seals',
      'environment_hash',
      'target_sha256',
      'cases_sha256',
      'conditions',
      'cases',
      'pack',
    ],
    *check(baseline) {
      const { seal } = baseline;
      if (!seal) yield should('seal', 'is missing: nothing proves that the baseline is unchanged');
      else for (const [at, message] of sealFindings({ ...baseline, seal })) yield must(at, message);
    },
    breach: ({ seal, ...rest }) => ({ ...rest, seal: { ...seal, payload: seal?.payload.slice(4) } }),
  }),
  rule({
    id: 'BL6',
    title: 'Pack Bound',
    why: 'Causes are derived from the events in the pack, so a changed pack would change them.',
    asks: [
      'pack, if present, has sha256 (the hash of the pack file next to the baseline) and bytes (its size, at most 32 MiB)',
      'artifacts is the number of stored answers; left_out is the number of documents that were too large or did not fit',
    ],
    fields: ['pack'],
    breach: baseline => ({ ...baseline, pack: { sha256: 'sha256:12', bytes: 0, artifacts: 0, left_out: 0 } }),
  }),
];

const idForm = formOf(caseId());

function* caseFindings(id: string, one: Baseline['cases'][string], runs: number): Generator<Finding> {
  const at = placeOf('cases', id);
  let isName = true;
  for (const { message } of idForm.faults(id, '')) {
    isName = false;
    yield must(at, message);
  }
  if (!isName) return;
  const { trials } = one;
  if (trials.length !== runs) yield must(`${at}.trials`, 'must have one entry per run');
  for (const [index, { verdict, error_class }] of trials.entries()) {
    if (verdict !== 'error' && error_class !== null) {
      yield must(`${at}.trials[${index}].error_class`, 'must be null unless verdict is "error"');
    }
  }
}

const passed: AcceptedTrial = {
  verdict: 'pass',
  error_class: null,
  output_hash: '8d1f2c90',
  latency_ms: 840,
  cost_usd: 0.0021,
  score: 1,
};

const bare: BareBaseline = {
  schema_version: 'baseline.v1',
  accepted_at: '2026-01-06T12:30:00.000Z',
  run_ids: ['suite_20260106_120000_4f1c9a7be210'],
  seals: ['sha256:3a7bd3e2360a3d29eea436fcfb7e44c735d117c42d1c1835420b6b9942dd4f1b'],
  environment_hash: 'sha256:9d4e1e23bd5b727046a9e3b4b7db57bd8d6ee684a3c1f2e0b5d7c9a8f6e4d2b0',
  target_sha256: 'sha256:0a4d55a8d778e5022fab701977c5d840bbc486d0c5a1f6a1d5e8b5d7c9a8f6e4',
  cases_sha256: 'sha256:e3b1c442a8fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b8aa',
  conditions: { 'settings.concurrency': '4', 'settings.retries': '2', 'target.kind': 'http' },
  cases: {
    'refund-large': {
      case_sha256: 'sha256:8d23cf6c86e834a7aa6eded54c26ce2bb2e74903538c61bdd5d2197997ab2f72',
      trials: [{ ...passed, verdict: 'error', error_class: 'timeout', output_hash: null, cost_usd: null, score: null }],
    },
    'refund-small': {
      case_sha256: 'sha256:5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8',
      trials: [passed],
    },
  },
};

const example = sealedBaseline(
  bare,
  bare.run_ids.map((id, index) => ({ what: 'run', id, seal_sha256: bare.seals[index] as string })),
  '0.1.0',
);

export const baseline: Contract = {
  name: 'baseline',
  title: 'Accepted baseline',
  tells: 'The result of each case of a suite in the accepted runs, small enough to commit.',
  source: 'Proctor, baseline accept',
  version: { field: 'schema_version', value: 'baseline.v1' },
  shape: baselineShape,
  rules,
  unknownKeys: 'BL1',
  programText: ['cases', 'seal'],
  beyond: ['whether the named runs had these results', 'who sealed it: use --key'],
  bytesMax: 256 * MIB,
  example,
};
