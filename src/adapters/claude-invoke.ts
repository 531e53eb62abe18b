import { shellQuoted } from '../base/shell.ts';
import type { AgentCall, Invocation } from './agent.ts';
import { plainSkill, type Skill } from './context.ts';
import { flag } from './flag.ts';
import { type Row, rowOf } from './versions.ts';

interface ClaudeRow extends Row {
  /** Whether it supports `--permission-prompts`. Without this flag, print mode denies requests anyway. */
  readonly permissionPrompts: boolean;
}

/** The newest tested version. Later versions get its flags and a warning. */
export const CLAUDE_NEWEST = '2.1.325';

/** The flags by version, newest first; tested with 2.1.325 and 2.1.197. */
export const CLAUDE_ROWS: readonly [ClaudeRow, ...ClaudeRow[]] = [
  { from: [2, 1, 300], before: [2, 2, 0], permissionPrompts: true },
  { from: [2, 1, 190], before: [2, 1, 210], permissionPrompts: false },
];

/** Passes the task only on standard input: other users can see arguments, and a task may look like a flag. */
export function invokeClaude(call: AgentCall): Invocation {
  const row = rowOf(CLAUDE_ROWS, call.version) ?? CLAUDE_ROWS[0];
  const { mode, tools, allowed, disallowed } = permissionsOf(call);
  return {
    mode: 'claude_print',
    args: [
      '--print',
      '--verbose',
      ...flag('--output-format', 'stream-json'),
      ...flag('--permission-prompts', row.permissionPrompts ? 'none' : undefined),
      ...flag('--permission-mode', mode),
      ...flag('--tools', tools?.join(',')),
      ...flag('--allowedTools', allowed.join(',')),
      ...flag('--disallowedTools', disallowed?.join(',')),
      '--strict-mcp-config',
      // Use only Proctor's settings, not those of the user or the work folder.
      ...flag('--setting-sources', ''),
      ...flag('--settings', `${call.toolFolder}/${SETTINGS}`),
      // Claude reads the instructions in these folders, but not their settings.
      ...(call.context?.folders ?? []).flatMap(folder => flag('--add-dir', folder)),
      ...flag('--plugin-dir', skillsOf(call).length > 0 ? `${call.toolFolder}/${PLUGIN}` : undefined),
      ...flag('--session-id', call.sessionId),
      '--no-session-persistence',
      ...flag('--model', call.model),
      ...flag('--max-turns', call.maxTurns),
      ...flag('--max-budget-usd', call.maxCostUsd),
    ],
    stdin: call.task,
    env: {},
    files: { [SETTINGS]: json(settingsOf(call)), ...pluginOf(call) },
    lastMessageFile: undefined,
    notes: [...notesOf(call, row)],
  };
}

const SETTINGS = 'settings.json';
const PLUGIN = 'project';

function json(value: object): Invocation['files'][string] {
  return { text: `${JSON.stringify(value, null, 2)}\n`, mode: 0o644 };
}

/** Wraps the skills in a plugin, because Claude would load the project's skills only with its settings and hooks. */
function pluginOf(call: AgentCall): Invocation['files'] {
  const skills = skillsOf(call);
  if (skills.length === 0) return {};
  const manifest = { name: PLUGIN, version: '1.0.0', description: 'The skills of this project.' };
  return {
    [`${PLUGIN}/.claude-plugin/plugin.json`]: json(manifest),
    ...Object.fromEntries(
      skills.map(skill => [`${PLUGIN}/skills/${skill.name}/SKILL.md`, { text: plainSkill(skill), mode: 0o644 }]),
    ),
  };
}

function skillsOf({ context }: AgentCall): readonly Skill[] {
  return context?.skills ?? [];
}

interface Permissions {
  readonly mode: 'dontAsk' | 'acceptEdits';
  /** The only available tools; absent if all are available. */
  readonly tools?: readonly string[];
  /** Tools that need no approval. */
  readonly allowed: readonly string[];
  readonly disallowed: readonly string[] | undefined;
}

const READING = ['Read', 'Glob', 'Grep'] as const;
const EDITING = ['Edit', 'Write', 'NotebookEdit'] as const;
/** The tools that use the network. */
export const WEB: readonly string[] = ['WebFetch', 'WebSearch'];
/** The tools that wait for the user. */
export const QUESTIONS: readonly string[] = ['AskUserQuestion', 'EnterPlanMode', 'ExitPlanMode'];

/**
 * An agent that may write may also run commands: the sandbox limits them, and builds and tests need them. Its file tools stay
 * in the work folder, unless the policy approves everything that the sandbox allows.
 */
function permissionsOf(call: AgentCall): Permissions {
  const { policy } = call;
  const more = [...(policy.network_posture === 'allow' ? WEB : []), ...(skillsOf(call).length > 0 ? ['Skill'] : [])];
  const disallowed = policy.network_posture === 'allow' ? undefined : WEB;
  if (policy.execution_posture === 'read_only') {
    const tools = [...READING, ...more];
    return { mode: 'dontAsk', tools, allowed: tools, disallowed };
  }
  const edits = policy.approval_posture === 'bounded_auto_approve' ? EDITING : [];
  return { mode: 'acceptEdits', allowed: ['Bash', ...READING, ...edits, ...more], disallowed };
}

/**
 * Passes the address and the token of the model proxy as settings, because the environment must not contain variables
 * with this prefix. The token has the same kind as the caller's credential, because Claude sends different requests
 * when it uses a login.
 */
function settingsOf({ door, context }: AgentCall): object {
  return {
    // A skill must not run commands when Claude loads it.
    ...(context && { disableSkillShellExecution: true }),
    ...(door?.as === 'key' && { apiKeyHelper: `echo ${shellQuoted(door.token)}` }),
    env: {
      ...(door && { ANTHROPIC_BASE_URL: door.url }),
      ...(door?.as === 'bearer' && { ANTHROPIC_AUTH_TOKEN: door.token }),
      ...(door?.as === 'oauth' && { CLAUDE_CODE_OAUTH_TOKEN: door.token }),
      ...(context && { CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD: '1' }),
      ...(context === null && { CLAUDE_CODE_DISABLE_CLAUDE_MDS: '1' }),
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_ERROR_REPORTING: '1',
      DISABLE_AUTOUPDATER: '1',
      // By default, Claude retries ten times with growing delays, for more than a minute.
      CLAUDE_CODE_MAX_RETRIES: '2',
    },
  };
}

function* notesOf({ policy, maxTurns, maxCostUsd }: AgentCall, row: ClaudeRow): Generator<string> {
  yield policy.execution_posture === 'read_only'
    ? 'execution_posture: claude has only read tools (--tools), and the work folder is read-only in the sandbox'
    : policy.approval_posture === 'bounded_auto_approve'
      ? 'execution_posture: claude does not limit where its tools write; only the sandbox does'
      : "execution_posture: claude's file tools stay in the work folder (acceptEdits); only the sandbox limits its commands";
  yield policy.network_posture === 'allow'
    ? "network_posture: claude's web tools are allowed; the sandbox limits what they can reach"
    : "network_posture: claude's web tools are disabled; only the sandbox keeps its commands off the network";
  const denied = row.permissionPrompts ? '--permission-prompts none' : 'print mode without a host';
  yield `approval_posture: claude denies requests for approval (${denied})${APPROVAL[policy.approval_posture]}`;
  if (maxTurns !== undefined) yield 'turns: claude counts and limits them (--max-turns)';
  if (maxCostUsd !== undefined)
    yield 'cost: claude estimates and limits it (--max-budget-usd), and may exceed the limit';
}

const APPROVAL = {
  fail_on_prompt: ', and Proctor stops it at the first denial',
  deny_interactive: ', and Proctor records every denial as a violation',
  bounded_auto_approve: '; its commands and edits are approved in advance',
} as const;
