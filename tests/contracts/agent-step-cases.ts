import {
  agentRequest,
  agentResult,
  policySummary,
  runnerMetadata,
  stepManifest,
} from '../../src/contracts/agent-step/index.ts';
import type { Contract } from '../../src/contracts/contract.ts';

/** What changes in the example, where which rules must be broken, and where which must give advice. */
type Row = [about: string, changes: Record<string, unknown>, broken: string[], advice?: string[]];

export interface Cases {
  readonly contract: Contract;
  readonly rows: Row[];
}

const CODEX = { agent_family: 'codex_cli', invocation_mode: 'codex_exec', command: ['codex', 'exec'] };

/** A step that left nothing. */
const EMPTY = { artifacts: [], 'evidence_summary.references': [] };

/** An agent that never said its last words. */
const SPEECHLESS = {
  'artifacts.1.path': undefined,
  'artifacts.1.sha256': undefined,
  'artifacts.1.size_bytes': undefined,
};

export const stepCases: Cases[] = [
  {
    contract: agentRequest,
    rows: [
      ['no version', { schema_version: undefined }, ['AG1 schema_version']],
      ['the version of another document', { schema_version: 'agent-result.v1' }, ['AG1 schema_version']],
      ['an agent of another family', { agent_family: 'gemini_cli' }, ['AG2 agent_family']],
      ['Codex', { agent_family: 'codex_cli' }, []],
      ['an empty task', { rendered_task_text: '' }, ['AG3 rendered_task_text']],
      ['a task that names a file of the host, which is the word of the user', { rendered_task_text: '/etc/hosts' }, []],
      ['a prompt without a reference', { prompt_reference: null }, []],
      ['a prompt reference that was forgotten', { prompt_reference: undefined }, ['AG3 prompt_reference']],
      ['a work folder that climbs out', { working_directory: 'a/../../b' }, ['AG5 working_directory']],
      ['the work folder itself', { working_directory: '.' }, []],
      ['no policy', { requested_policy: undefined }, ['AG9 requested_policy']],
      ['a policy that asks for nothing, so for the strictest', { requested_policy: {} }, []],
      ['a dimension left open', { 'requested_policy.network_posture': null }, []],
      [
        'a posture that nobody knows',
        { 'requested_policy.network_posture': 'some' },
        ['AG9 requested_policy.network_posture'],
      ],
      [
        'an absolute allowed path',
        { 'requested_policy.allowed_paths': ['/'] },
        ['AG5 requested_policy.allowed_paths[0]'],
      ],
      ['paths that are no list', { 'requested_policy.allowed_paths': 'src' }, ['AG9 requested_policy.allowed_paths']],
      [
        'a flag of one agent instead of a neutral intent',
        { 'requested_policy.--permission-mode': 'plan' },
        ['AG9 requested_policy'],
        ['AG9 requested_policy.--permission-mode'],
      ],
      ['a key too many', { temperature: 0 }, [], ['AG3 temperature']],
    ],
  },
  {
    contract: agentResult,
    rows: [
      ['a sixth termination', { termination: 'cancelled' }, ['AG4 termination']],
      [
        'an agent that was killed before it said anything',
        { termination: 'killed_idle', transcript_path: null, final_response_path: null, reason: 'stalled' },
        [],
      ],
      ['a transcript path that was forgotten', { transcript_path: undefined }, ['AG5 transcript_path']],
      ['a completed agent without last words', { final_response_path: null }, ['AG7 final_response_path']],
      ['no reason', { reason: undefined }, []],
      ['a reason that nobody knows', { reason: 'bad_luck' }, ['AG4 reason']],
      ['an agent that failed and is ok', { termination: 'error' }, ['AG4 reason']],
      ['an agent that completed for another reason', { reason: 'orphan_left' }, ['AG4 reason']],
      [
        'a transcript that stands in for the last words',
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
      ['Claude at a terminal', { command: ['claude'] }, ['AG13 command']],
      ['a program that is named like the flag', { command: ['-p'] }, ['AG13 command']],
      ['no command at all', { command: [] }, ['AG13 command']],
      ['a program by its place on the host', { command: ['/opt/claude', '-p'] }, ['AG5 command[0]']],
      ['success with an exit code of a failure', { exit_code: 143 }, ['AG4 exit_code']],
      ['an agent that was done, and then ended by Proctor', { exit_code: null }, []],
      [
        'an error with exit code 0, for want of a transcript',
        { termination: 'error', reason: 'incomplete_stream' },
        [],
      ],
      ['an agent that was killed for no reason', { termination: 'killed_timeout' }, ['AG4 reason']],
      [
        'an agent that was killed without an exit code',
        { termination: 'killed_timeout', exit_code: null, reason: 'wall_clock' },
        [],
      ],
      [
        'an exit code that no system has',
        { exit_code: 256, termination: 'error', reason: undefined },
        ['AG4 exit_code'],
      ],
      ['a program that nobody hashed', { program_sha256: 'unknown' }, ['AG13 program_sha256']],
      ['a version that is empty', { agent_version: '' }, ['AG13 agent_version']],
      [
        'an agent of which nothing more is known',
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
      ['no approval posture', { approval_posture: undefined }, ['AG13 approval_posture']],
      ['an end in the same millisecond', { ended_at: '2026-04-03T10:15:00.000Z' }, []],
      ['a time in no zone', { started_at: '2026-04-03T10:15:00' }, ['AG12 started_at']],
    ],
  },
  {
    contract: stepManifest,
    rows: [
      [
        'a validation that ended like a planner',
        { opcode: 'RUN_VALIDATION', termination: 'success', ...EMPTY },
        ['AG4 termination'],
      ],
      ['a planner that decided', { opcode: 'EVALUATE', termination: 'needs_human', ...EMPTY }, []],
      ['a planner that merely completed', { opcode: 'EVALUATE', ...EMPTY }, ['AG4 termination']],
      ['a gate that timed out', { opcode: 'GATE', termination: 'gate_timed_out', ...EMPTY }, []],
      ['a role of the adapter', { 'artifacts.4.role': 'codex_events' }, ['AG6 artifacts[4].role']],
      [
        'a runner that judges itself',
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
      ['a failed agent without last words', { termination: 'error', ...SPEECHLESS }, []],
      ['a completed agent without last words', SPEECHLESS, ['AG7 artifacts[1].path']],
      [
        'last words that are not even missed',
        { termination: 'error', 'artifacts.1.role': 'workspace_status' },
        ['AG7 artifacts'],
      ],
      [
        'the digest of last words that were never said',
        { termination: 'error', 'artifacts.1.path': undefined, 'artifacts.1.size_bytes': undefined },
        ['AG8 artifacts[1].sha256'],
      ],
      [
        'another artifact without a file',
        { termination: 'error', 'artifacts.2.path': undefined },
        ['AG7 artifacts[2].path', 'AG8 artifacts[2].sha256', 'AG8 artifacts[2].size_bytes'],
      ],
      [
        'a reference to last words that were never said',
        {
          termination: 'error',
          ...SPEECHLESS,
          'evidence_summary.references.0': { role: 'runner_final_response', path: 'undefined' },
        },
        ['AG8 evidence_summary.references[0]'],
      ],
      [
        'a failed agent without transcript',
        { termination: 'error', 'artifacts.0.role': 'workspace_status', 'evidence_summary.references': [] },
        ['AG7 artifacts'],
      ],
      [
        'a killed agent without transcript',
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
        'a reference in another role',
        { 'evidence_summary.references.1.role': 'workspace_status' },
        ['AG8 evidence_summary.references[1]'],
      ],
      ['no notes', { 'evidence_summary.notes': undefined }, ['AG8 evidence_summary.notes']],
      ['an opcode that nobody knows', { opcode: 'RUN_SHELL' }, ['AG16 opcode']],
      ['a step that is named like a path', { step_id: 'a/b' }, ['AG16 step_id']],
    ],
  },
  {
    contract: policySummary,
    rows: [
      ['no requested policy', { requested: undefined }, ['AG9 requested']],
      [
        'a dimension that was never decided',
        { 'effective.approval_posture': null },
        ['AG9 effective.approval_posture'],
      ],
      [
        'allowed paths that were never decided',
        { 'effective.allowed_paths': undefined },
        ['AG9 effective.allowed_paths'],
      ],
      ['a guarantee that the self-test disproved', { 'observed.0.held': false }, ['AG9 observed[0].held']],
      ['no self-test', { observed: [] }, []],
      ['a looser approval', { 'requested.approval_posture': 'fail_on_prompt' }, ['AG10 effective.approval_posture']],
      ['writing where nothing was said', { 'requested.execution_posture': null }, ['AG10 effective.execution_posture']],
      [
        'a network where nothing was said',
        { 'requested.network_posture': undefined, 'effective.network_posture': 'allow' },
        ['AG10 effective.network_posture'],
      ],
      ['reading where writing was asked', { 'effective.execution_posture': 'read_only' }, []],
      [
        'a path beside the requested ones',
        { 'effective.allowed_paths': ['tests', 'srcs'] },
        ['AG10 effective.allowed_paths[1]'],
      ],
      ['the parent of a requested path', { 'effective.allowed_paths': ['.'] }, ['AG10 effective.allowed_paths[0]']],
      ['a requested path in other words', { 'effective.allowed_paths': ['./src', 'src\\dates'] }, []],
      ['any path where all were requested', { 'requested.allowed_paths': ['.'] }, []],
      [
        'a path where none was requested',
        { 'requested.allowed_paths': [], 'effective.allowed_paths': ['src'] },
        ['AG10 effective.allowed_paths[0]'],
      ],
      [
        'a forbidden path that was dropped',
        { 'effective.forbidden_paths': ['.git'] },
        ['AG10 effective.forbidden_paths'],
      ],
      ['a forbidden path that is part of a larger one', { 'effective.forbidden_paths': ['src'] }, []],
      [
        'a forbidden operation that was dropped',
        { 'effective.forbidden_operations': ['force'] },
        ['AG10 effective.forbidden_operations'],
      ],
      ['a violation outside of the work folder', { 'violations.0.path': '/etc/passwd' }, ['AG5 violations[0].path']],
      ['a violation that is neither hard nor soft', { 'violations.0.hard': undefined }, ['AG11 violations[0].hard']],
      [
        'a prompt that nobody could answer, taken lightly',
        { 'violations.0.class': 'interactive_prompt_violation' },
        ['AG11 violations[0].hard'],
      ],
      [
        'a denial taken lightly under fail_on_prompt',
        { 'effective.approval_posture': 'fail_on_prompt' },
        ['AG11 violations[0].hard'],
      ],
      [
        'a denial of the network taken as lightly',
        { 'effective.approval_posture': 'fail_on_prompt', 'violations.0.class': 'network_violation' },
        ['AG11 violations[0].hard'],
      ],
      [
        'a forbidden operation that is not named',
        { 'violations.0.class': 'forbidden_operation', 'violations.0.operation': undefined },
        ['AG11 violations[0].operation'],
      ],
      [
        'a forbidden path that is not named',
        { 'violations.0.class': 'forbidden_path', 'violations.0.path': undefined },
        [],
        ['AG11 violations[0].path'],
      ],
    ],
  },
];
