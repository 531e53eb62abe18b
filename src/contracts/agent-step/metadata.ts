import * as z from 'zod/mini';
import { type Contract, MIB } from '../contract.ts';
import { firstRepeated } from '../lists.ts';
import { must, rulesFor, NO_UNKNOWN_KEYS } from '../rule.ts';
import { contentHashText, count, filledText, instant, matching, record, relativePath, wordyText } from '../shape.ts';
import { ATTEMPT_ASKS, attemptFindings, attemptShape } from './attempt.ts';
import { AG } from './invariants.ts';
import { isBefore } from './times.ts';
import { STEP_ASKS, nameText, TERMINATIONS } from './words.ts';

const commit = () => matching(/^(?:[a-f0-9]{40}|[a-f0-9]{64})$/, 'a full commit hash');

const shape = record({
  schema_version: z.literal('metadata.v1'),
  run_id: nameText(),
  workflow_id: z.nullable(filledText()),
  workflow_version: z.nullable(count()),
  started_at: instant(),
  artifacts_root: relativePath(),
  entry_step: nameText(),
  ended_at: z.optional(instant()),
  last_step_id: z.optional(nameText()),
  termination: z.optional(z.enum(TERMINATIONS)),
  schema_versions: z.optional(z.array(record({ name: filledText(), version: filledText() }))),
  workspace_context: z.optional(
    record({
      worktree_path: relativePath(),
      branch_name: filledText(),
      base_ref: filledText(),
      base_sha: commit(),
      head_sha: z.optional(commit()),
    }),
  ),
  /** The environment hash of runner.json. It is equal for two runs in the same environment. */
  environment_hash: z.optional(contentHashText()),
  /** Why the run has no runner.json. */
  runner_record_absent: z.optional(wordyText()),
  /** Which of several attempts at one task the run is. */
  attempt: z.optional(attemptShape),
});

export type Metadata = z.infer<typeof shape>;

const rule = rulesFor<Metadata>();

const version = rule({
  ...AG.AG1,
  asks: [
    'schema_version is "metadata.v1"',
    'schema_versions, if present, is a list; each entry has name and version, not empty',
    'names in schema_versions are unique',
  ],
  fields: ['schema_version', 'schema_versions'],
  *check({ schema_versions = [] }) {
    const repeated = firstRepeated(schema_versions.map(({ name }) => name));
    if (repeated !== undefined) yield must(`schema_versions[${repeated}].name`, 'is a duplicate');
  },
  breach: metadata => ({ ...metadata, schema_version: 'metadata.v9' }),
});

const termination = rule({
  ...AG.AG4,
  asks: [
    'termination, if present, is completed, error, killed_timeout, killed_idle or killed_policy',
    'termination is present if and only if ended_at is',
  ],
  fields: ['termination'],
  reads: ['ended_at'],
  *check({ termination, ended_at }) {
    if (termination !== undefined && ended_at === undefined) yield must('termination', 'requires ended_at');
    if (termination === undefined && ended_at !== undefined)
      yield must('termination', 'is missing although ended_at is present');
  },
  breach: metadata => ({ ...metadata, termination: 'stopped' }),
});

const paths = rule({
  ...AG.AG5,
  asks: ['artifacts_root and workspace_context.worktree_path are relative paths', ...STEP_ASKS.relativePath],
  fields: ['artifacts_root', 'workspace_context.worktree_path'],
  breach: metadata => ({ ...metadata, artifacts_root: '/home/me/runs' }),
});

const times = rule({
  ...AG.AG12,
  asks: [
    'started_at and, if present, ended_at are instants',
    ...STEP_ASKS.instant,
    'ended_at is not before started_at',
  ],
  fields: ['started_at', 'ended_at'],
  *check({ started_at, ended_at }) {
    if (ended_at !== undefined && isBefore(ended_at, started_at)) yield must('ended_at', 'is before started_at');
  },
  breach: metadata => ({ ...metadata, ended_at: '2026-04-03T10:14:58.119Z' }),
});

const identified = rule({
  ...AG.AG16,
  asks: [
    'run_id, entry_step and, if present, last_step_id are names',
    ...STEP_ASKS.name,
    'workflow_id is null or a non-empty string',
    'workflow_version is null or a non-negative integer',
    'workflow_version is null if and only if workflow_id is',
    'workspace_context, if present, has worktree_path, branch_name, base_ref and base_sha',
    'branch_name and base_ref are not empty',
    'branch_name differs from base_ref, ignoring a leading refs/heads/',
    'base_sha and, if present, head_sha are 40 or 64 lower-case hexadecimal digits',
    'environment_hash, if present, is sha256: followed by 64 lower-case hexadecimal digits',
    'runner_record_absent, if present, is not blank',
    'environment_hash and runner_record_absent are not both present',
    ...ATTEMPT_ASKS,
    NO_UNKNOWN_KEYS,
  ],
  fields: [
    'run_id',
    'workflow_id',
    'workflow_version',
    'entry_step',
    'last_step_id',
    'workspace_context',
    'environment_hash',
    'runner_record_absent',
    'attempt',
  ],
  *check({ workflow_id, workflow_version, workspace_context, environment_hash, runner_record_absent, attempt }) {
    yield* attemptFindings(attempt);
    if ((workflow_id === null) !== (workflow_version === null)) {
      yield must('workflow_version', 'must be null if and only if workflow_id is null');
    }
    if (workspace_context && plain(workspace_context.branch_name) === plain(workspace_context.base_ref)) {
      yield must('workspace_context.branch_name', 'must differ from base_ref: a run uses a separate branch');
    }
    if (environment_hash !== undefined && runner_record_absent !== undefined) {
      yield must('environment_hash', 'comes from runner.json, but runner_record_absent says that there is none');
    }
  },
  breach: metadata => ({ ...metadata, entry_step: 'steps/implement' }),
});

function plain(reference: string): string {
  return reference.replace(/^refs\/heads\//, '');
}

const example: Metadata = {
  schema_version: 'metadata.v1',
  run_id: 'agent_20260403_101500_4f1c9a7be210',
  workflow_id: 'implement-and-review',
  workflow_version: 3,
  started_at: '2026-04-03T10:14:58.120Z',
  artifacts_root: 'evidence/steps',
  entry_step: 'implement',
  ended_at: '2026-04-03T10:21:43.411Z',
  last_step_id: 'implement',
  termination: 'completed',
  schema_versions: [
    { name: 'step-manifest', version: 'step-manifest.v1' },
    { name: 'runner', version: '1.0.0' },
  ],
  workspace_context: {
    worktree_path: 'workspace',
    branch_name: 'proctor/agent_20260403_101500_4f1c9a7be210',
    base_ref: 'main',
    base_sha: '8c1f0de2a94b6c7d3e5f60718293a4b5c6d7e8f9',
    head_sha: '2b7e151628aed2a6abf7158809cf4f3c762e7160',
  },
  environment_hash: 'sha256:9d4e1e23bd5b727046a9e3b4b7db57bd8d6ee684a3c1f2e0b5d7c9a8f6e4d2b0',
};

export const metadata: Contract = {
  name: 'metadata',
  title: 'Run metadata',
  tells: 'Which run this is: its workflow and work tree, and when and how it started and ended.',
  source: 'Runner Contract (agent steps), section 9, stored as a file in the run folder',
  version: { field: 'schema_version', value: 'metadata.v1' },
  fileNames: ['metadata.json'],
  shape,
  rules: [version, termination, paths, times, identified],
  unknownKeys: AG.AG16.id,
  programText: ['runner_record_absent', 'workspace_context.base_ref'],
  beyond: ['whether the named commits exist'],
  bytesMax: 16 * MIB,
  example,
};
