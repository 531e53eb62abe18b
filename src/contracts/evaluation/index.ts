import { type Contract, MIB } from '../contract.ts';
import { evaluationRules } from './rules.ts';
import { type Evaluation, evaluationShape } from './shape.ts';

export { MESSAGE_BYTES_MAX } from './rules.ts';
export type { Assertion, Evaluation, JudgedCase } from './shape.ts';
export {
  isAllFailing,
  scoreOf,
  summaryOf,
  trialOf,
  type UnjudgedCounts,
  unjudgedIn,
  verdictOf,
} from './sums.ts';

const example: Evaluation = {
  schema_version: 'evaluation.v1',
  run_id: 'suite_20260106_120000_4f1c9a7be210',
  version: 'new',
  generated_at: '2026-01-06T12:00:12.000Z',
  judge_version: '0.1.0',
  seal_sha256: 'sha256:a1b2c442a8fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b8aa',
  cases_sha256: 'sha256:e3b1c442a8fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b8aa',
  summary: { total: 3, passed: 1, failed: 1, errors: 1, unjudged: 0 },
  gate: {
    limits: { min_pass_rate: 0.5 },
    checks: [
      {
        of: 'all',
        name: null,
        limit: 'min_pass_rate',
        allowed: 0.5,
        measured: 1 / 3,
        is_met: false,
        message: '33.33 % of the trials pass, and at least 50 % must (min_pass_rate).',
      },
    ],
  },
  cases: [
    {
      case_id: 'refund-small',
      case_sha256: 'sha256:4d4ac442a8fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b801',
      verdict: 'pass',
      error_class: null,
      assertions: [
        { name: 'contains', status: 'pass', message: null, at: 'final_output.content' },
        { name: 'tool_sequence', status: 'pass', message: null, at: 'events[1]' },
      ],
      metrics: { latency_ms: 840, ttft_ms: 310, attempts: 2, cost_usd: 0.0031, tokens: 1_204, steps: 1, score: 1 },
      output_hash: '8d1f2c90',
    },
    {
      case_id: 'refund-unknown-order',
      case_sha256: 'sha256:4d4ac442a8fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b802',
      verdict: 'fail',
      error_class: null,
      assertions: [
        { name: 'contains', status: 'pass', message: null, at: 'final_output.content' },
        {
          name: 'tool_forbidden',
          status: 'fail',
          message: 'The tool "payments.refund" was called.',
          at: 'events[3]',
        },
        { name: 'max_cost_usd', status: 'not_judged', message: 'The agent did not report its cost.', at: null },
      ],
      metrics: { latency_ms: 1_120.5, attempts: 1, cost_usd: null, tokens: null, steps: 2, score: 0.5 },
      output_hash: '77ac01de',
      repairs: { R6: 1 },
    },
    {
      case_id: 'refund-large',
      case_sha256: 'sha256:4d4ac442a8fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b803',
      verdict: 'error',
      error_class: 'http_error',
      assertions: [],
      metrics: { latency_ms: 388.5, attempts: 2, cost_usd: null, tokens: null, steps: 0, score: null },
      output_hash: null,
    },
  ],
  repairs: { R6: 1 },
};

export const evaluation: Contract = {
  name: 'evaluation',
  title: 'Evaluation of a run',
  tells: 'Which cases of a sealed suite run passed, failed or could not be judged, and why.',
  source: 'Proctor run folder',
  version: { field: 'schema_version', value: 'evaluation.v1' },
  fileNames: ['evaluation.json'],
  shape: evaluationShape,
  rules: evaluationRules,
  unknownKeys: 'EV1',
  programText: ['cases[].output_hash'],
  beyond: [
    'whether the named judge would give these verdicts',
    'whether the named seal, cases and run are the ones in its folder, unless the folder is verified as well',
  ],
  // Enough for 100,000 cases with several assertions each.
  bytesMax: 256 * MIB,
  example,
};
