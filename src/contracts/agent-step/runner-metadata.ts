import * as z from 'zod/mini';
import { unsafePath } from '../../base/path.ts';
import { type Contract, MIB } from '../contract.ts';
import { must, rulesFor, NO_UNKNOWN_KEYS } from '../rule.ts';
import { contentHashText, count, filledText, instant, record, relativePath } from '../shape.ts';
import { AG, versionOf } from './invariants.ts';
import { POSTURES } from './policy.ts';
import { REASONS } from './reading.ts';
import { reasonFindings, REASON_ASKS } from './reason.ts';
import { startAndEnd } from './times.ts';
import { STEP_ASKS, FAMILIES, TERMINATIONS } from './words.ts';

const shape = record({
  schema_version: z.literal('runner-metadata.v1'),
  agent_family: z.enum(FAMILIES),
  invocation_mode: z.enum(['claude_print', 'codex_exec']),
  command: z.array(z.string()).check(z.minLength(1)),
  working_directory: relativePath(),
  prompt_reference: z.nullable(filledText()),
  approval_posture: z.enum(POSTURES.approval_posture),
  started_at: instant(),
  ended_at: instant(),
  exit_code: z.nullable(count().check(z.lte(255))),
  termination: z.enum(TERMINATIONS),
  capture_format: z.enum(['ndjson', 'text']),
  /** The version that the program reports, and whether Proctor was tested with it. */
  agent_version: z.optional(filledText()),
  untested_version: z.optional(z.boolean()),
  program_sha256: z.optional(contentHashText()),
  reason: z.optional(z.enum(REASONS)),
  session_id: z.optional(filledText()),
  model: z.optional(filledText()),
});

export type RunnerMetadata = z.infer<typeof shape>;

/** How each family runs unattended, and the arguments that select this mode. */
const HEADLESS = {
  claude_cli: { mode: 'claude_print', asks: ['--print', '-p'], formats: ['ndjson', 'text'] },
  codex_cli: { mode: 'codex_exec', asks: ['exec'], formats: ['ndjson'] },
} as const satisfies Record<RunnerMetadata['agent_family'], { mode: string; asks: string[]; formats: string[] }>;

const rule = rulesFor<RunnerMetadata>();

const version = versionOf('runner-metadata.v1');

const family = rule({
  ...AG.AG2,
  asks: [
    'agent_family is claude_cli or codex_cli',
    'invocation_mode is claude_print for claude_cli, and codex_exec for codex_cli',
  ],
  fields: ['agent_family', 'invocation_mode'],
  *check({ agent_family, invocation_mode }) {
    const { mode } = HEADLESS[agent_family];
    if (invocation_mode !== mode) yield must('invocation_mode', `must be "${mode}" for this agent_family`);
  },
  breach: metadata => ({ ...metadata, invocation_mode: 'codex_exec' }),
});

const termination = rule({
  ...AG.AG4,
  asks: [
    'termination is completed, error, killed_timeout, killed_idle or killed_policy',
    'exit_code is an integer from 0 to 255, or null',
    'if termination is completed, exit_code is 0, or null if the agent was stopped after it had reported success',
    ...REASON_ASKS,
  ],
  fields: ['termination', 'exit_code', 'reason'],
  // The reverse does not hold: an agent can exit with 0 after it was stopped, or without a transcript, which is an error.
  *check({ termination, exit_code, reason }) {
    if (termination === 'completed' && exit_code !== 0 && exit_code !== null)
      yield must('exit_code', 'must be 0 or null if the agent completed');
    yield* reasonFindings({ termination, reason });
  },
  breach: metadata => ({ ...metadata, exit_code: 1 }),
});

const paths = rule({
  ...AG.AG5,
  asks: [
    'working_directory is a relative path',
    'the first entry of command is a bare name or a relative path',
    ...STEP_ASKS.relativePath,
  ],
  fields: ['working_directory'],
  reads: ['command'],
  *check({ command: [program = ''] }) {
    const reason = unsafePath(program);
    if (reason) yield must('command[0]', `must be a name or a relative path, but ${reason}`);
  },
  breach: metadata => ({ ...metadata, working_directory: 'C:\\work' }),
});

const invocation = rule({
  ...AG.AG13,
  asks: [
    'command is a non-empty list of strings',
    'command includes, after its first entry, --print or -p for claude_cli, or exec for codex_cli',
    'prompt_reference is null or a non-empty string',
    'approval_posture is fail_on_prompt, deny_interactive or bounded_auto_approve',
    'capture_format is ndjson, or text for claude_cli only',
    'agent_version, session_id and model, if present, are not empty',
    'untested_version, if present, is a boolean',
    'program_sha256, if present, is sha256: followed by 64 lower-case hexadecimal digits',
    NO_UNKNOWN_KEYS,
  ],
  fields: [
    'command',
    'prompt_reference',
    'approval_posture',
    'capture_format',
    'agent_version',
    'untested_version',
    'program_sha256',
    'session_id',
    'model',
  ],
  reads: ['agent_family'],
  *check({ command, capture_format, agent_family }) {
    const { asks, formats } = HEADLESS[agent_family];
    if (!asks.some(argument => command.includes(argument, 1))) {
      yield must('command', `must include ${asks.map(ask => `"${ask}"`).join(' or ')}, because agents run unattended`);
    }
    if (!formats.some(format => format === capture_format)) {
      yield must('capture_format', `must be "${formats[0]}" for this agent_family`);
    }
  },
  breach: metadata => ({ ...metadata, approval_posture: 'ask_the_user' }),
});

const example: RunnerMetadata = {
  schema_version: 'runner-metadata.v1',
  agent_family: 'claude_cli',
  invocation_mode: 'claude_print',
  command: ['claude', '--print', '--verbose', '--output-format', 'stream-json', '--permission-mode', 'dontAsk'],
  working_directory: 'workspace',
  prompt_reference: 'prompts/implement@3',
  approval_posture: 'deny_interactive',
  started_at: '2026-04-03T10:15:00.000Z',
  ended_at: '2026-04-03T10:21:42.318Z',
  exit_code: 0,
  termination: 'completed',
  capture_format: 'ndjson',
  agent_version: '2.1.325',
  untested_version: false,
  program_sha256: 'sha256:6c1e0f7a2b3d4c5e8f90a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f6',
  reason: 'ok',
  session_id: '0d9c1b2a-3f4e-4d5c-8b6a-7f8e9d0c1b2a',
  model: 'claude-sonnet-4-5',
};

export const runnerMetadata: Contract = {
  name: 'runner-metadata',
  title: 'Runner metadata',
  tells: 'How an agent was started, what it could approve, and how it ended.',
  source: 'Runner Contract (agent steps), sections 5 to 7',
  version: { field: 'schema_version', value: 'runner-metadata.v1' },
  fileNames: ['runner_metadata.json'],
  shape,
  rules: [version, family, termination, paths, startAndEnd, invocation],
  unknownKeys: AG.AG13.id,
  // Arguments contain paths as seen inside the sandbox.
  programText: ['command', 'agent_version', 'session_id', 'model'],
  beyond: [
    'whether this command actually ran',
    'whether an argument contains the task, which belongs on standard input',
    'whether approval_posture matches the effective policy in the policy summary',
  ],
  bytesMax: 16 * MIB,
  example,
};
