import { CLIMBS_OUT } from '../../base/path.ts';
import * as z from 'zod/mini';
import { type Contract, MIB } from '../contract.ts';
import { RUN_PROVENANCE_ASKS, runProvenance } from '../provenance.ts';
import { firstRepeated } from '../lists.ts';
import { must, rulesFor, should } from '../rule.ts';
import { count, filledText, isoTime, record } from '../shape.ts';
import { AA, artifactVersion } from './invariants.ts';
import { ARTIFACT_ASKS, caseId, folderName, milliseconds, side, targetUrl, pathFault } from './words.ts';

const runShape = record({
  schema_version: z.literal('run.v1'),
  run_id: folderName(),
  version: side(),
  generated_at: isoTime(),
  base_url: targetUrl(),
  cases_path: z.string(),
  out_dir: z.string(),
  selected_case_ids: z.array(caseId()),
  runner_version: filledText(),
  repo_commit: z.optional(z.string()),
  dirty: z.optional(z.boolean()),
  node_version: z.optional(z.string()),
  /** The components of the agent, as reported by the caller or the target. */
  provenance: z.optional(runProvenance),
  timeout_ms: z.optional(milliseconds()),
  retries: z.optional(count()),
  concurrency: z.optional(count()),
  retry_policy: z.optional(
    record({
      // Wider than the error classes: a policy may name a subset of one, such as http_5xx.
      classes: z.optional(z.array(filledText())),
      backoff: z.optional(z.literal('exponential')),
      jitter: z.optional(z.boolean()),
    }),
  ),
  limits: z.optional(
    record({
      max_body_bytes: z.optional(count()),
      max_inline_snippet_bytes: z.optional(count()),
      max_payload_inline_bytes: z.optional(count()),
    }),
  ),
  stats: z.optional(
    record({
      cases_total: z.optional(count()),
      cases_completed: z.optional(count()),
      cases_failed: z.optional(count()),
      duration_ms: z.optional(milliseconds()),
    }),
  ),
});

export type RunArtifact = z.infer<typeof runShape>;

const rule = rulesFor<RunArtifact>();

const rules = [
  artifactVersion('run.v1'),
  rule({
    ...AA.portablePaths,
    asks: [
      'cases_path and out_dir are relative paths: no leading slash, drive, share, ~ or scheme, and no empty segment',
      'should: they contain no ..',
    ],
    fields: ['cases_path', 'out_dir'],
    *check(run) {
      for (const key of ['cases_path', 'out_dir'] as const) {
        const fault = pathFault(run[key]);
        // The suite file can be above the run folder, so `..` yields only advice.
        if (fault === CLIMBS_OUT) yield should(key, `${fault} and reveals the folder layout`);
        else if (fault) yield must(key, `must be a relative path, but ${fault}`);
      }
    },
    breach: run => ({ ...run, cases_path: '/srv/suites/refunds.json' }),
  }),
  rule({
    ...AA.runIdentity,
    asks: [
      'run_id is a folder name: not empty, not . or .., without slash, backslash or control character',
      'run_id does not start with ~, a drive or a scheme',
      'version is baseline or new',
      'generated_at is an instant',
      ...ARTIFACT_ASKS.isoTime,
      'runner_version is not empty',
    ],
    fields: ['run_id', 'version', 'generated_at', 'runner_version'],
    breach: run => ({ ...run, version: 'candidate' }),
  }),
  rule({
    ...AA.targetAddress,
    asks: ['base_url is a URL', ...ARTIFACT_ASKS.targetUrl],
    fields: ['base_url'],
    breach: run => ({ ...run, base_url: 'https://qa:secret@agent.example.com' }),
  }),
  rule({
    ...AA.selectedCases,
    asks: [
      'selected_case_ids is a list of case ids',
      ...ARTIFACT_ASKS.caseId,
      'ids in selected_case_ids are unique, ignoring letter case',
    ],
    fields: ['selected_case_ids'],
    *check({ selected_case_ids }) {
      const repeated = firstRepeated(selected_case_ids.map(id => id.toLowerCase()));
      if (repeated !== undefined) {
        yield must(`selected_case_ids[${repeated}]`, 'repeats an earlier id, ignoring letter case');
      }
    },
    breach: run => ({ ...run, selected_case_ids: ['refund-small', 'Refund-Small'] }),
  }),
  rule({
    ...AA.runSettings,
    asks: [
      'repo_commit and node_version, if present, are strings',
      `provenance, if present, may have ${RUN_PROVENANCE_ASKS}: single-line strings of 1 to 200 characters`,
      'dirty, if present, is a boolean',
      'timeout_ms, if present, is a non-negative number',
      'retries and concurrency, if present, are non-negative integers',
      'retry_policy and limits, if present, are objects',
      'retry_policy.classes, if present, is a list of non-empty strings',
      'retry_policy.backoff, if present, is exponential',
      'retry_policy.jitter, if present, is a boolean',
      'limits may have max_body_bytes, max_inline_snippet_bytes and max_payload_inline_bytes, non-negative integers',
    ],
    fields: [
      'repo_commit',
      'dirty',
      'node_version',
      'provenance',
      'timeout_ms',
      'retries',
      'concurrency',
      'retry_policy',
      'limits',
    ],
    breach: run => ({ ...run, dirty: null }),
  }),
  rule({
    ...AA.runStats,
    asks: [
      'stats, if present, is an object',
      'cases_total, cases_completed and cases_failed, if present, are non-negative integers',
      'duration_ms, if present, is a non-negative number',
      'cases_total, if present, is at least the sum of cases_completed and cases_failed',
    ],
    fields: ['stats'],
    *check({ stats }) {
      const { cases_total, cases_completed = 0, cases_failed = 0 } = stats ?? {};
      const ended = cases_completed + cases_failed;
      if (cases_total !== undefined && ended > cases_total) {
        yield must(
          'stats.cases_total',
          `must be at least ${ended}, the sum of cases_completed and cases_failed, but is ${cases_total}`,
        );
      }
    },
    breach: run => ({ ...run, stats: { ...run.stats, cases_failed: 3 } }),
  }),
];

const example: RunArtifact = {
  schema_version: 'run.v1',
  run_id: 'run_20260106_120000_k3x9',
  version: 'new',
  generated_at: '2026-01-06T12:00:09.412Z',
  base_url: 'https://agent.example.com/v2',
  cases_path: 'suites/refunds.json',
  out_dir: '.proctor/runs',
  selected_case_ids: ['refund-small', 'refund-large', 'refund-unknown-order'],
  runner_version: '0.1.0',
  repo_commit: '4f0c2b7d9e6a13855c1d0f7ab2e94c6638d7f0a1',
  dirty: false,
  node_version: 'v24.11.1',
  provenance: {
    agent_id: 'refunds',
    agent_version: '2.1.0',
    model: 'm-1',
    model_version: '2026-01',
    prompt_version: 'p7',
    tools_version: 't3',
    config_hash: 'sha256:0c9b8a7f6e5d4c3b2a190817f6e5d4c3b2a190817f6e5d4c3b2a190817f6e5d4',
  },
  timeout_ms: 15_000,
  retries: 2,
  concurrency: 4,
  retry_policy: { classes: ['timeout', 'network_error', 'http_5xx'], backoff: 'exponential', jitter: true },
  limits: { max_body_bytes: 2_000_000, max_inline_snippet_bytes: 4_000, max_payload_inline_bytes: 65_536 },
  stats: { cases_total: 3, cases_completed: 2, cases_failed: 1, duration_ms: 9_412 },
};

export const runArtifact: Contract = {
  name: 'run',
  title: 'Run of a suite',
  tells: 'Which cases were sent to which target, for which side, and with which settings.',
  source: 'Agent Artifact Contract v1, section 3',
  version: { field: 'schema_version', value: 'run.v1' },
  shape: runShape,
  rules,
  unknownKeys: AA.schemaVersion.id,
  programText: ['base_url'],
  beyond: [
    'whether the document was written atomically',
    'whether the target at base_url was the side that version names',
    'whether every selected case has its file, unless the folder is verified as well',
  ],
  // Enough for 100,000 case ids of maximum length.
  bytesMax: 16 * MIB,
  example,
};
