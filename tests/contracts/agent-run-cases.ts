import { stepEvent, metadata, status } from '../../src/contracts/agent-step/index.ts';
import type { Cases } from './agent-step-cases.ts';

const IDLE = { active_opcode: null, active_runner_family: null };

export const runCases: Cases[] = [
  {
    contract: stepEvent,
    rows: [
      ['an unknown type', { event_type: 'agent_dreamt' }, [], ['AG14 event_type']],
      ['a missing type', { event_type: undefined }, ['AG14 event_type']],
      ['a type named like an object property', { event_type: 'constructor' }, [], ['AG14 event_type']],
      [
        'an artifact without role and path',
        { artifact_role: undefined, artifact_path: undefined },
        [],
        ['AG14 artifact_path', 'AG14 artifact_role'],
      ],
      [
        'a route without a target',
        { event_type: 'route_selected', next_step_id: undefined },
        [],
        ['AG14 next_step_id'],
      ],
      ['a route to STOP', { event_type: 'route_selected', next_step_id: 'STOP' }, []],
      [
        'a waiting step without details',
        { event_type: 'step_waiting', opcode: undefined, runner_family: undefined },
        [],
      ],
      ['an unknown state', { lifecycle_state: 'asleep' }, ['AG14 lifecycle_state']],
      ['a numeric timestamp', { timestamp: 1775211303007 }, ['AG12 timestamp']],
      ['a null optional key', { runner_family: null }, ['AG2 runner_family']],
    ],
  },
  {
    contract: status,
    rows: [
      ['a missing field', { last_route_target: undefined }, ['AG15 last_route_target']],
      ['a missing termination', { termination: undefined }, ['AG4 termination']],
      ['an unknown work tree', { worktree_path: null }, []],
      ['a run without a workflow', { workflow_id: null }, []],
      ['a waiting run that has ended', { lifecycle_state: 'waiting', termination: 'error' }, ['AG15 termination']],
      ['a failed run without a termination', { lifecycle_state: 'failed', ...IDLE }, ['AG15 termination']],
      ['a killed run', { lifecycle_state: 'failed', termination: 'killed_timeout', ...IDLE }, []],
      [
        'a failed run with termination completed',
        { lifecycle_state: 'failed', termination: 'completed', ...IDLE },
        ['AG15 lifecycle_state'],
      ],
      [
        'a completed run that was killed',
        { lifecycle_state: 'completed', termination: 'killed_idle', ...IDLE },
        ['AG15 lifecycle_state'],
      ],
      [
        'an active agent in an ended run',
        { lifecycle_state: 'completed', termination: 'completed' },
        ['AG15 active_opcode'],
      ],
      ['an active agent in a GATE step', { active_opcode: 'GATE' }, ['AG15 active_runner_family']],
      ['a blocked run without a reason', { lifecycle_state: 'blocked' }, [], ['AG15 blocking_reason']],
      ['a blocked run with a reason', { lifecycle_state: 'blocked', blocking_reason: 'approval' }, []],
      ['attempt 0', { active_attempt: 0 }, ['AG15 active_attempt']],
      [
        'missing optional fields',
        { active_attempt: undefined, operator_note: undefined, elapsed_seconds: undefined },
        [],
      ],
      [
        'an artifact written before the run started',
        { last_artifact_write: '2026-04-03T10:14:58.119Z' },
        ['AG12 last_artifact_write'],
      ],
    ],
  },
  {
    contract: metadata,
    rows: [
      [
        'the second of five attempts',
        { attempt: { group: 'attempts_20260403_101500_4f1c9a7be210', number: 2, of: 5 } },
        [],
      ],
      [
        'an attempt after the last',
        { attempt: { group: 'attempts_20260403_101500_4f1c9a7be210', number: 6, of: 5 } },
        ['AG16 attempt.number'],
      ],
      [
        'a single attempt',
        { attempt: { group: 'attempts_20260403_101500_4f1c9a7be210', number: 1, of: 1 } },
        ['AG16 attempt.of'],
      ],
      ['a malformed group name', { attempt: { group: 'best', number: 1, of: 2 } }, ['AG16 attempt.group']],
      ['a run that has not ended', { ended_at: undefined, termination: undefined, last_step_id: undefined }, []],
      ['a termination without ended_at', { ended_at: undefined }, ['AG4 termination']],
      ['ended_at without a termination', { termination: undefined }, ['AG4 termination']],
      ['a run without a workflow', { workflow_id: null, workflow_version: null }, []],
      ['a workflow version without a workflow', { workflow_id: null }, ['AG16 workflow_version']],
      ['two versions of one document', { 'schema_versions.1.name': 'step-manifest' }, ['AG1 schema_versions[1].name']],
      [
        "an agent on the user's branch",
        { 'workspace_context.base_ref': 'refs/heads/main', 'workspace_context.branch_name': 'main' },
        ['AG16 workspace_context.branch_name'],
      ],
      ['half a commit', { 'workspace_context.base_sha': '8c1f0de' }, ['AG16 workspace_context.base_sha']],
      [
        'an absolute work tree path',
        { 'workspace_context.worktree_path': '/tmp/tree' },
        ['AG5 workspace_context.worktree_path'],
      ],
      [
        'a run without a runner record',
        { environment_hash: undefined, runner_record_absent: 'The timeout is over 10 minutes.' },
        [],
      ],
      [
        'an environment hash without a runner record',
        { runner_record_absent: 'The timeout is over 10 minutes.' },
        ['AG16 environment_hash'],
      ],
    ],
  },
];
