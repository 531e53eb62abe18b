import { matching } from '../shape.ts';

export const FAMILIES = ['claude_cli', 'codex_cli'] as const;

export type Family = (typeof FAMILIES)[number];

export const TERMINATIONS = ['completed', 'error', 'killed_timeout', 'killed_idle', 'killed_policy'] as const;

export type Termination = (typeof TERMINATIONS)[number];

export const VIOLATION_CLASSES = [
  'native_policy_block',
  'forbidden_path',
  'forbidden_operation',
  'interactive_prompt_violation',
  'network_violation',
  'protected_branch_violation',
] as const;

export const LIFECYCLE_STATES = ['running', 'waiting', 'blocked', 'failed', 'completed'] as const;

const PLANNER_STATUSES = ['success', 'partial', 'blocked', 'unsafe', 'needs_human'] as const;

const GATE_OUTCOMES = ['gate_approved', 'gate_rejected', 'gate_timed_out'] as const;

/** The terminations of all kinds of steps. */
export const OUTCOMES = [...TERMINATIONS, ...PLANNER_STATUSES, ...GATE_OUTCOMES] as const;

export const OPCODES = ['RUN_AGENT', 'RUN_VALIDATION', 'EVALUATE', 'GATE', 'ROLLBACK', 'STOP'] as const;

export type Opcode = (typeof OPCODES)[number];

/** The terminations of each kind of step. A planner or gate that fails before it decides ends in an error. */
export const OUTCOMES_OF: Readonly<Record<Opcode, readonly (typeof OUTCOMES)[number][]>> = {
  RUN_AGENT: TERMINATIONS,
  RUN_VALIDATION: TERMINATIONS,
  EVALUATE: [...PLANNER_STATUSES, 'error'],
  GATE: [...GATE_OUTCOMES, 'error'],
  ROLLBACK: ['completed', 'error'],
  STOP: ['completed'],
};

/** The roles under which evidence is stored. */
export const ROLES = [
  'runner_transcript',
  'runner_final_response',
  'runner_metadata',
  'policy_summary',
  'validation_report',
  'validation_stdout',
  'validation_stderr',
  'planner_decision',
  'gate_request',
  'gate_outcome',
  'workspace_diff',
  'workspace_status',
  'harness_fixture',
  'harness_screenshot',
  'harness_trace',
] as const;

export type Role = (typeof ROLES)[number];

/** Roles that only one kind of step may have. Any step may have the others. */
export const OPCODE_OF: Readonly<Partial<Record<Role, Opcode>>> = {
  runner_transcript: 'RUN_AGENT',
  runner_final_response: 'RUN_AGENT',
  runner_metadata: 'RUN_AGENT',
  validation_report: 'RUN_VALIDATION',
  validation_stdout: 'RUN_VALIDATION',
  validation_stderr: 'RUN_VALIDATION',
  planner_decision: 'EVALUATE',
  gate_request: 'GATE',
  gate_outcome: 'GATE',
  harness_fixture: 'RUN_VALIDATION',
  harness_screenshot: 'RUN_VALIDATION',
  harness_trace: 'RUN_VALIDATION',
};

/** Roles that may have several files in one step. */
export const PLURAL_ROLES: ReadonlySet<Role> = new Set(['harness_fixture', 'harness_screenshot', 'harness_trace']);

/** The name of a run or step, which is also a folder name. */
export const nameText = () =>
  matching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, 'a name of at most 100 letters, digits, dots, dashes and underscores');

/** Asks for formats that many keys share. A rule lists its keys first. */
export const STEP_ASKS = {
  name: ['a name is 1 to 100 ASCII letters, digits, dots, dashes and underscores, and starts with a letter or digit'],
  instant: ['an instant is a valid time in UTC, such as 2026-01-06T12:00:00.000Z, with at most millisecond precision'],
  relativePath: [
    'a path is not empty, and does not start with a slash, backslash, drive or ~',
    'a path has no .., no empty segment and no control character',
  ],
} as const;
