import * as z from 'zod/mini';
import { placeOf } from '../../base/place.ts';
import { ASKS as NAME_ASKS } from '../agent-step/words.ts';
import { ASKS, caseId, folderName } from '../artifacts/words.ts';
import { trialKeys } from '../comparison/trial.ts';
import { type Contract, MIB } from '../contract.ts';
import { formOf } from '../form.ts';
import { firstRepeated } from '../lists.ts';
import { type Finding, must, rulesFor, should } from '../rule.ts';
import { innerEnvelopeShape } from '../seal/index.ts';
import { contentHashText, count, instant, record } from '../shape.ts';
import { type BareBaseline, sealedBaseline, sealTroubles } from './seal.ts';

export { baselineSealHash, sealedBaseline } from './seal.ts';

/** How large the pack beside a baseline may be: it is committed with it. */
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
  /** What the runs were done with, by the names under which drift is told. */
  conditions: z.optional(z.record(z.string(), z.string())),
  cases: z.record(z.string(), accepted),
  /** The file beside it that keeps cases, events and outputs. Absent where there is none. */
  pack: z.optional(
    record({
      sha256: contentHashText(),
      bytes: count().check(z.lte(BASELINE_PACK_BYTES_MAX)),
      artifacts: count(),
      left_out: count(),
    }),
  ),
  /** Absent in baselines from before they were sealed. */
  seal: z.optional(innerEnvelopeShape),
});

export type Baseline = z.infer<typeof baselineShape>;

type AcceptedTrial = Baseline['cases'][string]['trials'][number];

const rule = rulesFor<Baseline>();

const rules = [
  rule({
    id: 'BL1',
    title: 'Baseline Version Known',
    why: 'A reader must know by which rules a baseline was written before it believes a word of it.',
    asks: ['schema_version is "baseline.v1"', 'should (must, when strict): no key is unknown'],
    fields: ['schema_version'],
    breach: baseline => ({ ...baseline, schema_version: 'baseline.v9' }),
  }),
  rule({
    id: 'BL2',
    title: 'Accepted Runs Sealed',
    why: 'What was accepted must be provable by the runs it was taken from, for as long as anyone keeps them.',
    asks: [
      'accepted_at is an instant',
      ...NAME_ASKS.instant,
      'run_ids is a list of at least one name of a folder, and none stands twice',
      'seals is a list of content hashes, one for each of run_ids',
    ],
    fields: ['accepted_at', 'run_ids', 'seals'],
    *check({ run_ids, seals }) {
      const repeated = firstRepeated(run_ids);
      if (repeated !== undefined) yield must(`run_ids[${repeated}]`, 'stands here twice');
      if (seals.length !== run_ids.length) yield must('seals', `must be ${run_ids.length}, one for each run`);
    },
    breach: baseline => ({ ...baseline, seal: undefined, seals: [] }),
  }),
  rule({
    id: 'BL3',
    title: 'Surroundings Kept',
    why: 'Drift can be told only against what is remembered.',
    asks: [
      'environment_hash, target_sha256 and cases_sha256 are content hashes, or null where not known or not all the same',
      'conditions, if present, is an object whose values are strings',
    ],
    fields: ['environment_hash', 'target_sha256', 'cases_sha256', 'conditions'],
    breach: baseline => ({ ...baseline, conditions: { 'settings.retries': 2 } }),
  }),
  rule({
    id: 'BL4',
    title: 'Accepted Cases Whole',
    why: 'A case with fewer trials than there were runs would be held against the wrong ones.',
    asks: [
      'cases is an object; each key is a case id, and no two differ in upper and lower case alone',
      ...ASKS.caseId,
      'each case has case_sha256, a content hash, and trials, as many as there are runs, in their order',
      'a trial has verdict, pass, fail or error, and error_class, output_hash, latency_ms, cost_usd and score, or null',
      'latency_ms and cost_usd are from 0 up, score from 0 to 1',
      'a trial without an answer may have failure: status, of HTTP, and latency_ms of its last attempt, or null',
      'error_class is null where verdict is not error',
    ],
    fields: ['cases'],
    reads: ['run_ids'],
    *check({ cases, run_ids }) {
      const ids = Object.keys(cases);
      const repeated = firstRepeated(ids.map(id => id.toLowerCase()));
      if (repeated !== undefined) yield must(placeOf('cases', ids[repeated] as string), 'is an earlier id again');
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
    why: 'A baseline is committed and copied by many people. Its seal shows that it is still what was accepted.',
    asks: [
      'seal is a DSSE envelope like that of a judgement, with kind baseline: JS1 to JS5 hold of it',
      'its only file has the SHA-256 and size of the baseline without seal: canonical JSON and a line feed',
      'it rests on the runs of run_ids and their seals, and perhaps on evaluations of them',
      'its sealed_at is accepted_at',
      'should: seal is there; compare refuses a baseline without it',
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
      if (!seal) yield should('seal', 'is missing: nothing shows that this is what was accepted');
      else for (const [at, message] of sealTroubles({ ...baseline, seal })) yield must(at, message);
    },
    breach: ({ seal, ...rest }) => ({ ...rest, seal: { ...seal, payload: seal?.payload.slice(4) } }),
  }),
  rule({
    id: 'BL6',
    title: 'Pack Bound',
    why: 'Causes are seen against the events in the pack, so a changed pack would tell another story.',
    asks: [
      'pack, if present, has sha256, the hash of the whole file beside the baseline, and bytes, its size, at most 32 MiB',
      'artifacts is how many answers it holds; left_out is how many documents had no room in it or were too large',
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
  if (trials.length !== runs) yield must(`${at}.trials`, `must be ${runs}, one for each run`);
  for (const [index, { verdict, error_class }] of trials.entries()) {
    if (verdict !== 'error' && error_class !== null) {
      yield must(`${at}.trials[${index}].error_class`, 'belongs to an error');
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
  tells: 'What each case of a suite came to in the runs that were accepted: small enough to be committed.',
  source: 'Proctor, baseline accept',
  version: { field: 'schema_version', value: 'baseline.v1' },
  shape: baselineShape,
  rules,
  unknownKeys: 'BL1',
  programText: ['cases', 'seal'],
  beyond: ['whether the runs that it names came to what it says', 'who sealed it: --key tells'],
  bytesMax: 256 * MIB,
  example,
};
