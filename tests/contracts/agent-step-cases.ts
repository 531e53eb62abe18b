import {
  agentRequest,
  agentResult,
  policySummary,
  runnerMetadata,
  stepManifest,
} from '../../src/contracts/agent-step/index.ts';
import type { Contract } from '../../src/contracts/contract.ts';

/** A label, the changes to the example, and the expected violations and advice. */
type Row = [about: string, changes: Record<string, unknown>, broken: string[], advice?: string[]];

export interface Cases {
  readonly contract: Contract;
  readonly rows: Row[];
}

const CODEX = { agent_family: 'codex_cli', invocation_mode: 'codex_exec', command: ['codex', 'exec'] };

const EMPTY = { artifacts: [], 'evidence_summary.references': [] };

const WITHOUT_RESPONSE = {
  'artifacts.1.path': undefined,
  'artifacts.1.sha256': undefined,
  'artifacts.1.size_bytes': undefined,
};

export const stepCases: Cases[] = [
  {
    contract: agentRequest,
    rows: [
      ['a missing version', { schema_version: undefined }, ['AG1 schema_version']],
      ['the version of another document', { schema_version: 'agent-result.v1' }, ['AG1 schema_version']],
      ['an unknown agent family', { agent_family: 'gemini_cli' }, ['AG2 agent_family']],
      ['Codex', { agent_family: 'codex_cli' }, []],
      ['an empty task', { rendered_task_text: '' }, ['AG3 rendered_task_text']],
      ['a task that names a host path', { rendered_task_text: '/etc/hosts' }, []],
      [
        'the second of five attempts',
        { attempt: { group: 'attempts_20260403_101500_4f1c9a7be210', number: 2, of: 5 } },
        [],
      ],
      [
        'an attempt after the last',
        { attempt: { group: 'attempts_20260403_101500_4f1c9a7be210', number: 6, of: 5 } },
        ['AG3 attempt.number'],
      ],
      [
        'a single attempt',
        { attempt: { group: 'attempts_20260403_101500_4f1c9a7be210', number: 1, of: 1 } },
        ['AG3 attempt.of'],
      ],
      ['a malformed group name', { attempt: { group: 'best', number: 1, of: 2 } }, ['AG3 attempt.group']],
      ['a null prompt reference', { prompt_reference: null }, []],
      ['a missing prompt reference', { prompt_reference: undefined }, ['AG3 prompt_reference']],
      ['a working directory with ..', { working_directory: 'a/../../b' }, ['AG5 working_directory']],
      ['the work tree as working directory', { working_directory: '.' }, []],
      ['a missing policy', { requested_policy: undefined }, ['AG9 requested_policy']],
      ['an empty policy', { requested_policy: {} }, []],
      ['a null dimension', { 'requested_policy.network_posture': null }, []],
      ['an unknown posture', { 'requested_policy.network_posture': 'some' }, ['AG9 requested_policy.network_posture']],
      [
        'an absolute allowed path',
        { 'requested_policy.allowed_paths': ['/'] },
        ['AG5 requested_policy.allowed_paths[0]'],
      ],
      [
        'paths that are not a list',
        { 'requested_policy.allowed_paths': 'src' },
        ['AG9 requested_policy.allowed_paths'],
      ],
      [
        'an agent-specific flag in the policy',
        { 'requested_policy.--permission-mode': 'plan' },
        ['AG9 requested_policy'],
        ['AG9 requested_policy.--permission-mode'],
      ],
      ['an unknown key', { temperature: 0 }, [], ['AG3 temperature']],
    ],
  },
  {
    contract: agentResult,
    rows: [
      ['a sixth termination', { termination: 'cancelled' }, ['AG4 termination']],
      [
        'a killed agent without transcript and response',
        { termination: 'killed_idle', transcript_path: null, final_response_path: null, reason: 'stalled' },
        [],
      ],
      ['a missing transcript path', { transcript_path: undefined }, ['AG5 transcript_path']],
      ['a completed agent without a final response', { final_response_path: null }, ['AG7 final_response_path']],
      ['no reason', { reason: undefined }, []],
      ['an unknown reason', { reason: 'bad_luck' }, ['AG4 reason']],
      ['a failed agent with reason ok', { termination: 'error' }, ['AG4 reason']],
      ['a completed agent with another reason', { reason: 'orphan_left' }, ['AG4 reason']],
      [
        'the same path for transcript and response',
        { transcript_path: 'a.txt', final_response_path: 'a.txt' },
        ['AG7 final_response_path'],
      ],
    ],
  },
  {
    contract: runnerMetadata,
    rows: [
      [
        'Codex in the mode of Claude',
        { agent_family: 'codex_cli', command: ['codex', 'exec', '--json'] },
        ['AG2 invocation_mode'],
      ],
      ['Codex in its own mode', { ...CODEX }, []],
      ['Codex without events', { ...CODEX, capture_format: 'text' }, ['AG13 capture_format']],
      ['Claude captured as text', { capture_format: 'text' }, []],
      ['Claude in interactive mode', { command: ['claude'] }, ['AG13 command']],
      ['a program named like the flag', { command: ['-p'] }, ['AG13 command']],
      ['an empty command', { command: [] }, ['AG13 command']],
      ['an absolute program path', { command: ['/opt/claude', '-p'] }, ['AG5 command[0]']],
      ['success with a non-zero exit code', { exit_code: 143 }, ['AG4 exit_code']],
      ['a finished agent that Proctor stopped', { exit_code: null }, []],
      ['an error with exit code 0', { termination: 'error', reason: 'incomplete_stream' }, []],
      ['a killed agent with a reason that does not fit', { termination: 'killed_timeout' }, ['AG4 reason']],
      [
        'an agent that was killed without an exit code',
        { termination: 'killed_timeout', exit_code: null, reason: 'wall_clock' },
        [],
      ],
      ['an exit code above 255', { exit_code: 256, termination: 'error', reason: undefined }, ['AG4 exit_code']],
      ['a malformed program hash', { program_sha256: 'unknown' }, ['AG13 program_sha256']],
      ['an empty version', { agent_version: '' }, ['AG13 agent_version']],
      [
        'missing optional keys',
        {
          agent_version: undefined,
          untested_version: undefined,
          program_sha256: undefined,
          reason: undefined,
          session_id: undefined,
          model: undefined,
        },
        [],
      ],
      ['a missing approval posture', { approval_posture: undefined }, ['AG13 approval_posture']],
      ['an end in the same millisecond', { ended_at: '2026-04-03T10:15:00.000Z' }, []],
      ['a time without a zone', { started_at: '2026-04-03T10:15:00' }, ['AG12 started_at']],
    ],
  },
  {
    contract: stepManifest,
    rows: [
      [
        'a validation with the termination of a planner',
        { opcode: 'RUN_VALIDATION', termination: 'success', ...EMPTY },
        ['AG4 termination'],
      ],
      ['a planner with its own termination', { opcode: 'EVALUATE', termination: 'needs_human', ...EMPTY }, []],
      ['a planner that completed', { opcode: 'EVALUATE', ...EMPTY }, ['AG4 termination']],
      ['a gate that timed out', { opcode: 'GATE', termination: 'gate_timed_out', ...EMPTY }, []],
      ['an unknown role', { 'artifacts.4.role': 'codex_events' }, ['AG6 artifacts[4].role']],
      [
        'a runner with the role of a planner',
        { 'artifacts.4.role': 'planner_decision', 'evidence_summary.references': [] },
        ['AG6 artifacts[4].role'],
        ['AG7 artifacts'],
      ],
      [
        'two transcripts, one without a digest',
        { 'artifacts.4.role': 'runner_transcript', 'artifacts.4.sha256': null, 'evidence_summary.references': [] },
        ['AG6 artifacts[4].role', 'AG8 artifacts[4].sha256'],
      ],
      ['one file in two roles', { 'artifacts.3.path': 'workspace.diff' }, ['AG6 artifacts[4].path']],
      ['a failed agent without a final response', { termination: 'error', ...WITHOUT_RESPONSE }, []],
      ['a completed agent without a final response', WITHOUT_RESPONSE, ['AG7 artifacts[1].path']],
      [
        'a final response that is not required',
        { termination: 'error', 'artifacts.1.role': 'workspace_status' },
        ['AG7 artifacts'],
      ],
      [
        'a digest of a missing final response',
        { termination: 'error', 'artifacts.1.path': undefined, 'artifacts.1.size_bytes': undefined },
        ['AG8 artifacts[1].sha256'],
      ],
      [
        'another artifact without a file',
        { termination: 'error', 'artifacts.2.path': undefined },
        ['AG7 artifacts[2].path', 'AG8 artifacts[2].sha256', 'AG8 artifacts[2].size_bytes'],
      ],
      [
        'a reference to a missing final response',
        {
          termination: 'error',
          ...WITHOUT_RESPONSE,
          'evidence_summary.references.0': { role: 'runner_final_response', path: 'undefined' },
        },
        ['AG8 evidence_summary.references[0]'],
      ],
      [
        'a failed agent without a transcript',
        { termination: 'error', 'artifacts.0.role': 'workspace_status', 'evidence_summary.references': [] },
        ['AG7 artifacts'],
      ],
      [
        'a killed agent without a transcript',
        { termination: 'killed_idle', 'artifacts.0.role': 'workspace_status', 'evidence_summary.references': [] },
        ['AG7 artifacts'],
      ],
      ['a transcript that is not required', { 'artifacts.0.required': false }, ['AG7 artifacts[0].required']],
      ['no artifacts', { artifacts: undefined }, ['AG7 artifacts']],
      ['a file without a size', { 'artifacts.2.size_bytes': undefined }, ['AG8 artifacts[2].size_bytes']],
      ['a media type without a slash', { 'artifacts.2.media_type': 'json' }, ['AG8 artifacts[2].media_type']],
      [
        'a reference to no artifact',
        { 'evidence_summary.references.0.path': 'raw.jsonl' },
        ['AG8 evidence_summary.references[0]'],
      ],
      [
        'a reference with the wrong role',
        { 'evidence_summary.references.1.role': 'workspace_status' },
        ['AG8 evidence_summary.references[1]'],
      ],
      ['no notes', { 'evidence_summary.notes': undefined }, ['AG8 evidence_summary.notes']],
      ['an unknown opcode', { opcode: 'RUN_SHELL' }, ['AG16 opcode']],
      ['a step named like a path', { step_id: 'a/b' }, ['AG16 step_id']],
    ],
  },
  {
    contract: policySummary,
    rows: [
      ['a missing requested policy', { requested: undefined }, ['AG9 requested']],
      ['a missing effective dimension', { 'effective.approval_posture': null }, ['AG9 effective.approval_posture']],
      ['null effective allowed paths', { 'effective.allowed_paths': undefined }, ['AG9 effective.allowed_paths']],
      ['a guarantee that the self-test disproved', { 'observed.0.held': false }, ['AG9 observed[0].held']],
      ['no self-test', { observed: [] }, []],
      ['a looser approval', { 'requested.approval_posture': 'fail_on_prompt' }, ['AG10 effective.approval_posture']],
      ['writing that was not requested', { 'requested.execution_posture': null }, ['AG10 effective.execution_posture']],
      [
        'a network that was not requested',
        { 'requested.network_posture': undefined, 'effective.network_posture': 'allow' },
        ['AG10 effective.network_posture'],
      ],
      ['reading where writing was requested', { 'effective.execution_posture': 'read_only' }, []],
      [
        'a path outside the requested ones',
        { 'effective.allowed_paths': ['tests', 'srcs'] },
        ['AG10 effective.allowed_paths[1]'],
      ],
      ['the parent of a requested path', { 'effective.allowed_paths': ['.'] }, ['AG10 effective.allowed_paths[0]']],
      ['a requested path in another spelling', { 'effective.allowed_paths': ['./src', 'src\\dates'] }, []],
      ['any path if all were requested', { 'requested.allowed_paths': ['.'] }, []],
      [
        'a path if none was requested',
        { 'requested.allowed_paths': [], 'effective.allowed_paths': ['src'] },
        ['AG10 effective.allowed_paths[0]'],
      ],
      ['a dropped forbidden path', { 'effective.forbidden_paths': ['.git'] }, ['AG10 effective.forbidden_paths']],
      ['a forbidden path inside a larger one', { 'effective.forbidden_paths': ['src'] }, []],
      [
        'a dropped forbidden operation',
        { 'effective.forbidden_operations': ['force'] },
        ['AG10 effective.forbidden_operations'],
      ],
      ['a violation outside the work tree', { 'violations.0.path': '/etc/passwd' }, ['AG5 violations[0].path']],
      ['a violation without hard', { 'violations.0.hard': undefined }, ['AG11 violations[0].hard']],
      [
        'a soft prompt violation',
        { 'violations.0.class': 'interactive_prompt_violation' },
        ['AG11 violations[0].hard'],
      ],
      [
        'a soft denial under fail_on_prompt',
        { 'effective.approval_posture': 'fail_on_prompt' },
        ['AG11 violations[0].hard'],
      ],
      [
        'a soft network denial under fail_on_prompt',
        { 'effective.approval_posture': 'fail_on_prompt', 'violations.0.class': 'network_violation' },
        ['AG11 violations[0].hard'],
      ],
      [
        'a forbidden operation without its name',
        { 'violations.0.class': 'forbidden_operation', 'violations.0.operation': undefined },
        ['AG11 violations[0].operation'],
      ],
      [
        'a forbidden path without its path',
        { 'violations.0.class': 'forbidden_path', 'violations.0.path': undefined },
        [],
        ['AG11 violations[0].path'],
      ],
    ],
  },
];
