import type { AgentCall, Invocation } from './agent.ts';
import { plainSkill, type Skill } from './context.ts';
import { flag } from './flag.ts';
import { type Row, rowOf } from './versions.ts';

interface ClaudeRow extends Row {
  /** Whether it can be told that nobody answers. One that cannot denies all the same, in print mode and without a host. */
  readonly permissionPrompts: boolean;
}

/** The newest version that was tried. Later ones get its flags, and a warning. */
export const CLAUDE_NEWEST = '2.1.325';

/** The flags by version, the newest first; tried with 2.1.325 and 2.1.197. */
export const CLAUDE_ROWS: readonly [ClaudeRow, ...ClaudeRow[]] = [
  { from: [2, 1, 300], before: [2, 2, 0], permissionPrompts: true },
  { from: [2, 1, 190], before: [2, 1, 210], permissionPrompts: false },
];

/** How Claude is asked. The task is on standard input alone: an argument can be seen by others, and may look like a flag. */
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
      // No settings but ours: neither those of a user nor those that lie in the work folder.
      ...flag('--setting-sources', ''),
      ...flag('--settings', `${call.toolFolder}/${SETTINGS}`),
      // Claude reads the instructions of folders that are named, although it takes no settings from them.
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

/** The skills of the project as a plugin of ours: a project's own would come with its settings and hooks. */
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
  /** The only tools there are, if not all. */
  readonly tools?: readonly string[];
  /** Used without a question. */
  readonly allowed: readonly string[];
  readonly disallowed: readonly string[] | undefined;
}

const READING = ['Read', 'Glob', 'Grep'] as const;
const EDITING = ['Edit', 'Write', 'NotebookEdit'] as const;
/** The tools that reach for the network. */
export const WEB: readonly string[] = ['WebFetch', 'WebSearch'];
/** The tools that wait for a word of the user: an answer, or leave to plan and to carry out the plan. */
export const QUESTIONS: readonly string[] = ['AskUserQuestion', 'EnterPlanMode', 'ExitPlanMode'];

/**
 * Commands are allowed to one that may write, because the sandbox around it bounds them anyway; without them it could
 * neither build nor test. Its own edits stay in the work folder, unless all that the sandbox allows is approved.
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
 * The address of the model and the word for it are settings and no variables of the process, whose environment may hold
 * none of that prefix. The word stands where the caller's credential would, since Claude asks differently with a login.
 * Without a door Claude says by itself that it is not logged in.
 */
function settingsOf({ door, context }: AgentCall): object {
  return {
    // A skill is a text for the model: what it would run on its own when it is opened is not run.
    ...(context && { disableSkillShellExecution: true }),
    ...(door?.as === 'key' && { apiKeyHelper: `echo ${quoted(door.token)}` }),
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
      // Left alone it tries ten times, each time later than the last, for more than a minute.
      CLAUDE_CODE_MAX_RETRIES: '2',
    },
  };
}

/** A word for a shell. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

function* notesOf({ policy, maxTurns, maxCostUsd }: AgentCall, row: ClaudeRow): Generator<string> {
  yield policy.execution_posture === 'read_only'
    ? 'execution_posture: claude has only the tools that read (--tools); the sandbox has the work folder read-only'
    : policy.approval_posture === 'bounded_auto_approve'
      ? 'execution_posture: the tools of claude may write wherever the sandbox lets them; the sandbox alone bounds writing'
      : 'execution_posture: the file tools of claude stay in the work folder (acceptEdits); the sandbox alone bounds its commands';
  yield policy.network_posture === 'allow'
    ? 'network_posture: the web tools of claude are allowed; what they reach is what the sandbox lets them reach'
    : 'network_posture: the web tools of claude are disallowed; the sandbox alone keeps its commands from the network';
  const denied = row.permissionPrompts ? '--permission-prompts none' : 'print mode without a host';
  yield `approval_posture: what would ask is denied by claude (${denied})${APPROVAL[policy.approval_posture]}`;
  if (maxTurns !== undefined) yield 'turns: counted and bounded by claude (--max-turns)';
  if (maxCostUsd !== undefined) yield 'cost: estimated and bounded by claude (--max-budget-usd), which may overshoot';
}

const APPROVAL = {
  fail_on_prompt: ', and proctor ends it at the first denial',
  deny_interactive: ', and every denial is a recorded violation',
  bounded_auto_approve: '; its commands and edits are allowed beforehand',
} as const;
