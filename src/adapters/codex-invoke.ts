import type { AgentCall, Invocation } from './agent.ts';
import { flag } from './flag.ts';
import type { Row } from './versions.ts';

/** The newest version that was tried. Later ones get its flags, and a warning. */
export const CODEX_NEWEST = '0.166.0';

/** The versions whose flags are these. */
export const CODEX_ROWS: readonly Row[] = [{ from: [0, 166, 0], before: [0, 167, 0] }];

/**
 * How Codex is asked. The task is on standard input alone, which must end: Codex waits for ever on one that stays open.
 * CODEX_HOME is not set, because Codex refuses one that is not there yet, and makes the one below its home by itself.
 */
export function invokeCodex(call: AgentCall): Invocation {
  const { policy, door } = call;
  return {
    mode: 'codex_exec',
    args: [
      'exec',
      '--json',
      '--ephemeral',
      '--ignore-user-config',
      '--ignore-rules',
      '--skip-git-repo-check',
      ...flag('-s', sandboxOf(call)),
      ...flag('-C', call.workFolder),
      ...flag('-o', `${call.home}/${LAST_MESSAGE}`),
      ...flag('-m', call.model),
      ...providerAt(door?.url),
      // Left alone it asks its provider for plugins and reports on itself, which would count as reaching for the network.
      ...setting('features.plugins', false),
      ...setting('analytics.enabled', false),
      ...setting('otel.metrics_exporter', 'none'),
      // Its web search runs at the provider, where no sandbox of ours reaches.
      ...(policy.network_posture === 'deny' ? setting('web_search', 'disabled') : []),
      ...(isOpenWithin(call) ? setting('sandbox_workspace_write.network_access', true) : []),
      ...(call.context === null ? withoutContext() : []),
      '-',
    ],
    stdin: call.task,
    env: door ? { [KEY_VARIABLE]: door.token } : {},
    files: {},
    lastMessageFile: LAST_MESSAGE,
    notes: [...notesOf(call)],
  };
}

const LAST_MESSAGE = 'last-message.txt';

/** A name of our own: those that begin with the provider's are kept for credentials, and enter no environment. */
const KEY_VARIABLE = 'PROCTOR_MODEL_KEY';

/** Inside a sandbox in which its own cannot start, Codex would fail every command; there ours alone holds it. */
function sandboxOf({ policy, nestedSandbox }: AgentCall): string {
  if (!nestedSandbox) return 'danger-full-access';
  return policy.execution_posture === 'read_only' ? 'read-only' : 'workspace-write';
}

function isOpenWithin({ policy, nestedSandbox }: AgentCall): boolean {
  return nestedSandbox && policy.execution_posture === 'workspace_write' && policy.network_posture === 'allow';
}

/** Without a door it asks for a key all the same, so that Codex ends at once; left alone, it waits for a network that never comes. */
function providerAt(url: string | undefined): string[] {
  const provider = {
    name: 'Proctor',
    base_url: url ?? NOWHERE,
    wire_api: 'responses',
    env_key: KEY_VARIABLE,
    ...(url === undefined && { env_key_instructions: 'There is no key for the model API: set OPENAI_API_KEY.' }),
    request_max_retries: RETRIES,
    stream_max_retries: RETRIES,
  };
  return [
    ...setting('model_provider', 'proctor'),
    ...Object.entries(provider).flatMap(([key, value]) => setting(`model_providers.proctor.${key}`, value)),
  ];
}

const RETRIES = 2;

/** AGENTS.md and skills, of which Codex tells its model by itself. Settings of a project it takes only where a user trusts it. */
function withoutContext(): readonly string[] {
  return [...setting('project_doc_max_bytes', 0), ...setting('skills.include_instructions', false)];
}

const NOWHERE = 'http://127.0.0.1:9';

/** TOML writes texts, numbers and truth as JSON does. */
function setting(key: string, value: string | number | boolean): readonly string[] {
  return flag('-c', `${key}=${JSON.stringify(value)}`);
}

function* notesOf({ policy, nestedSandbox, maxTurns }: AgentCall): Generator<string> {
  const sandbox = nestedSandbox
    ? `the commands of codex run in its own sandbox (-s ${policy.execution_posture === 'read_only' ? 'read-only' : 'workspace-write'}), inside that of proctor`
    : 'the sandbox of codex cannot start inside that of proctor and is off; that of proctor alone bounds writing';
  yield `execution_posture: ${sandbox}`;
  const network = nestedSandbox ? 'both sandboxes keep' : 'the sandbox of proctor alone keeps';
  yield policy.network_posture === 'allow'
    ? 'network_posture: codex may use what the sandbox of proctor lets it reach'
    : `network_posture: the web search of codex is disabled; ${network} its commands from the network`;
  yield `approval_posture: codex exec never asks; what its sandbox blocks fails${APPROVAL[policy.approval_posture]}`;
  if (maxTurns !== undefined)
    yield 'turns: codex has no limit of its own; proctor counts them in its stream and ends it';
}

const APPROVAL = {
  fail_on_prompt: ', and proctor ends it at the first block that its stream shows',
  deny_interactive: ', and every block that its stream shows is a recorded violation',
  bounded_auto_approve: ', and what it allows is not asked for',
} as const;
