import * as z from 'zod/mini';
import { type Contract, MIB } from '../contract.ts';
import { must, rulesFor, should, NO_UNKNOWN_KEYS } from '../rule.ts';
import { filledText, instant, record, relativePath } from '../shape.ts';
import { AG, versionOf } from './invariants.ts';
import { isBefore } from './times.ts';
import { STEP_ASKS, FAMILIES, LIFECYCLE_STATES, nameText, OPCODES, TERMINATIONS } from './words.ts';

const shape = record({
  schema_version: z.literal('status.v1'),
  run_id: nameText(),
  workflow_id: z.nullable(filledText()),
  started_at: instant(),
  updated_at: instant(),
  lifecycle_state: z.enum(LIFECYCLE_STATES),
  current_step_id: z.nullable(nameText()),
  last_completed_step_id: z.nullable(nameText()),
  active_opcode: z.nullable(z.enum(OPCODES)),
  active_runner_family: z.nullable(z.enum(FAMILIES)),
  worktree_path: z.nullable(relativePath()),
  last_route_target: z.nullable(nameText()),
  termination: z.nullable(z.enum(TERMINATIONS)),
  active_attempt: z.optional(z.nullable(z.int().check(z.gte(1)))),
  elapsed_seconds: z.optional(z.nullable(z.number().check(z.gte(0)))),
  last_artifact_write: z.optional(z.nullable(instant())),
  blocking_reason: z.optional(z.nullable(z.string())),
  operator_note: z.optional(z.nullable(z.string())),
});

export type Status = z.infer<typeof shape>;

const rule = rulesFor<Status>();

const version = versionOf('status.v1');

const family = rule({
  ...AG.AG2,
  asks: ['active_runner_family is claude_cli, codex_cli or null'],
  fields: ['active_runner_family'],
  breach: status => ({ ...status, active_runner_family: 'claude-code' }),
});

const termination = rule({
  ...AG.AG4,
  asks: ['termination is completed, error, killed_timeout, killed_idle, killed_policy or null'],
  fields: ['termination'],
  breach: status => ({ ...status, termination: 'timed_out' }),
});

const paths = rule({
  ...AG.AG5,
  asks: ['worktree_path is a relative path or null', ...STEP_ASKS.relativePath],
  fields: ['worktree_path'],
  breach: status => ({ ...status, worktree_path: '/tmp/clone' }),
});

const times = rule({
  ...AG.AG12,
  asks: [
    'started_at and updated_at are instants',
    'last_artifact_write, if present, is an instant or null',
    ...STEP_ASKS.instant,
    'updated_at and last_artifact_write are not before started_at',
  ],
  fields: ['started_at', 'updated_at', 'last_artifact_write'],
  *check({ started_at, updated_at, last_artifact_write }) {
    if (isBefore(updated_at, started_at)) yield must('updated_at', 'is before started_at');
    if (last_artifact_write && isBefore(last_artifact_write, started_at)) {
      yield must('last_artifact_write', 'is before started_at');
    }
  },
  breach: status => ({ ...status, updated_at: '2026-04-03T10:14:58.119Z' }),
});

const complete = rule({
  ...AG.AG15,
  asks: [
    'lifecycle_state is running, waiting, blocked, failed or completed',
    'current_step_id, last_completed_step_id and last_route_target are names or null',
    ...STEP_ASKS.name,
    'active_opcode is RUN_AGENT, RUN_VALIDATION, EVALUATE, GATE, ROLLBACK, STOP or null',
    'active_attempt, if present, is a positive integer or null',
    'elapsed_seconds, if present, is a non-negative number or null',
    'blocking_reason and operator_note, if present, are strings or null',
    'termination is null if lifecycle_state is running or waiting',
    'termination is completed if lifecycle_state is completed',
    'termination is neither null nor completed if lifecycle_state is failed',
    'active_opcode is null if lifecycle_state is completed or failed',
    'active_runner_family is null unless active_opcode is RUN_AGENT',
    'should: blocking_reason is a non-empty string if lifecycle_state is blocked',
    NO_UNKNOWN_KEYS,
  ],
  fields: [
    'lifecycle_state',
    'current_step_id',
    'last_completed_step_id',
    'active_opcode',
    'last_route_target',
    'active_attempt',
    'elapsed_seconds',
    'blocking_reason',
    'operator_note',
  ],
  reads: ['termination', 'active_runner_family'],
  *check({ lifecycle_state, termination, active_opcode, active_runner_family, blocking_reason }) {
    const hasEnded = lifecycle_state === 'completed' || lifecycle_state === 'failed';
    const isAlive = lifecycle_state === 'running' || lifecycle_state === 'waiting';
    if (isAlive && termination !== null) yield must('termination', 'must be null while the run is active');
    if (hasEnded && termination === null) yield must('termination', 'must not be null once the run has ended');
    else if (hasEnded && (termination === 'completed') !== (lifecycle_state === 'completed')) {
      yield must('lifecycle_state', 'contradicts termination: only one of them is "completed"');
    }

    if (hasEnded && active_opcode !== null) yield must('active_opcode', 'must be null once the run has ended');
    if (active_runner_family !== null && active_opcode !== 'RUN_AGENT') {
      yield must('active_runner_family', 'must be null unless a RUN_AGENT step is active');
    }
    if (lifecycle_state === 'blocked' && !blocking_reason)
      yield should('blocking_reason', 'should say what blocks the run');
  },
  breach: status => ({ ...status, termination: 'completed' }),
});

const identified = rule({
  ...AG.AG16,
  asks: ['run_id is a name', ...STEP_ASKS.name, 'workflow_id is null or a non-empty string'],
  fields: ['run_id', 'workflow_id'],
  breach: status => ({ ...status, run_id: null }),
});

const example: Status = {
  schema_version: 'status.v1',
  run_id: 'agent_20260403_101500_4f1c9a7be210',
  workflow_id: 'implement-and-review',
  started_at: '2026-04-03T10:14:58.120Z',
  updated_at: '2026-04-03T10:17:30.000Z',
  lifecycle_state: 'running',
  current_step_id: 'implement',
  last_completed_step_id: null,
  active_opcode: 'RUN_AGENT',
  active_runner_family: 'claude_cli',
  worktree_path: 'workspace',
  last_route_target: null,
  termination: null,
  active_attempt: 1,
  elapsed_seconds: 151.88,
  last_artifact_write: '2026-04-03T10:15:00.000Z',
  blocking_reason: null,
  operator_note: 'Started manually before the release.',
};

export const status: Contract = {
  name: 'status',
  title: 'Status',
  tells: 'The current state of a run, and how it ended if it has.',
  source: 'Runner Contract (agent steps), section 9, as a file of the run folder',
  version: { field: 'schema_version', value: 'status.v1' },
  fileNames: ['status.json'],
  shape,
  rules: [version, family, termination, paths, times, complete, identified],
  unknownKeys: AG.AG15.id,
  programText: ['blocking_reason', 'operator_note'],
  beyond: ['whether the program that wrote it is still alive', 'whether it is the latest status'],
  bytesMax: MIB,
  example,
};
