import { event, metadata, status } from '../../src/contracts/agent-step/index.ts';
import type { Cases } from './agent-step-cases.ts';

/** A run in which nothing is active. */
const IDLE = { active_opcode: null, active_runner_family: null };

export const runCases: Cases[] = [
  {
    contract: event,
    rows: [
      ['a type from the future, which readers pass over', { event_type: 'agent_dreamt' }, [], ['AG14 event_type']],
      ['no type', { event_type: undefined }, ['AG14 event_type']],
      ['a type that is also a name of every object', { event_type: 'constructor' }, [], ['AG14 event_type']],
      [
        'an artifact that is not named',
        { artifact_role: undefined, artifact_path: undefined },
        [],
        ['AG14 artifact_path', 'AG14 artifact_role'],
      ],
      ['a route to nowhere', { event_type: 'route_selected', next_step_id: undefined }, [], ['AG14 next_step_id']],
      ['the end of the route', { event_type: 'route_selected', next_step_id: 'STOP' }, []],
      [
        'a step that waits, and nothing more',
        { event_type: 'step_waiting', opcode: undefined, runner_family: undefined },
        [],
      ],
      ['a state that nobody knows', { lifecycle_state: 'asleep' }, ['AG14 lifecycle_state']],
      ['a moment as a number', { timestamp: 1775211303007 }, ['AG12 timestamp']],
      ['an optional key that is null', { runner_family: null }, ['AG2 runner_family']],
    ],
  },
  {
    contract: status,
    rows: [
      ['a field that was forgotten', { last_route_target: undefined }, ['AG15 last_route_target']],
      ['a termination that was forgotten', { termination: undefined }, ['AG4 termination']],
      ['a work tree that is not known', { worktree_path: null }, []],
      ['a run without a workflow', { workflow_id: null }, []],
      ['a run that waits and has ended', { lifecycle_state: 'waiting', termination: 'error' }, ['AG15 termination']],
      ['a run that failed, nobody knows how', { lifecycle_state: 'failed', ...IDLE }, ['AG15 termination']],
      ['a run that was killed', { lifecycle_state: 'failed', termination: 'killed_timeout', ...IDLE }, []],
      [
        'a failure that completed',
        { lifecycle_state: 'failed', termination: 'completed', ...IDLE },
        ['AG15 lifecycle_state'],
      ],
      [
        'a success that was killed',
        { lifecycle_state: 'completed', termination: 'killed_idle', ...IDLE },
        ['AG15 lifecycle_state'],
      ],
      [
        'an agent that outlives its run',
        { lifecycle_state: 'completed', termination: 'completed' },
        ['AG15 active_opcode'],
      ],
      ['an agent at a gate', { active_opcode: 'GATE' }, ['AG15 active_runner_family']],
      ['a run that is blocked by nothing', { lifecycle_state: 'blocked' }, [], ['AG15 blocking_reason']],
      ['a run that is blocked by a human', { lifecycle_state: 'blocked', blocking_reason: 'approval' }, []],
      ['attempt 0', { active_attempt: 0 }, ['AG15 active_attempt']],
      [
        'optional fields that are absent',
        { active_attempt: undefined, operator_note: undefined, elapsed_seconds: undefined },
        [],
      ],
      [
        'an artifact from before the run',
        { last_artifact_write: '2026-04-03T10:14:58.119Z' },
        ['AG12 last_artifact_write'],
      ],
    ],
  },
  {
    contract: metadata,
    rows: [
      ['a run that has not ended', { ended_at: undefined, termination: undefined, last_step_id: undefined }, []],
      ['an end without a time', { ended_at: undefined }, ['AG4 termination']],
      ['a time of an end that was none', { termination: undefined }, ['AG4 termination']],
      ['a run without a workflow', { workflow_id: null, workflow_version: null }, []],
      ['a version of no workflow', { workflow_id: null }, ['AG16 workflow_version']],
      ['two versions of one document', { 'schema_versions.1.name': 'step-manifest' }, ['AG1 schema_versions[1].name']],
      [
        'an agent on the branch of the user',
        { 'workspace_context.base_ref': 'refs/heads/main', 'workspace_context.branch_name': 'main' },
        ['AG16 workspace_context.branch_name'],
      ],
      ['half a commit', { 'workspace_context.base_sha': '8c1f0de' }, ['AG16 workspace_context.base_sha']],
      [
        'a work tree on the host',
        { 'workspace_context.worktree_path': '/tmp/tree' },
        ['AG5 workspace_context.worktree_path'],
      ],
      [
        'a run longer than a runner record can state',
        { environment_hash: undefined, runner_record_absent: 'The timeout is over 10 minutes.' },
        [],
      ],
      [
        'a hash of a record that is absent',
        { runner_record_absent: 'The timeout is over 10 minutes.' },
        ['AG16 environment_hash'],
      ],
    ],
  },
];
