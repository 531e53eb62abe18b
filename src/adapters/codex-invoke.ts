import type { AgentCall, Invocation } from './agent.ts';
import { flag } from './flag.ts';
import type { Row } from './versions.ts';

/** The newest tested version. Later versions get its flags and a warning. */
export const CODEX_NEWEST = '0.166.0';

export const CODEX_ROWS: readonly Row[] = [{ from: [0, 166, 0], before: [0, 167, 0] }];

/**
 * Passes the task on standard input, which must be closed: otherwise Codex waits forever. CODEX_HOME is not set, because Codex
 * rejects a missing folder there but creates its default one.
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
      // By default, Codex downloads plugins and sends telemetry, which would count as network access.
      ...setting('features.plugins', false),
      ...setting('analytics.enabled', false),
      ...setting('otel.metrics_exporter', 'none'),
      // The web search runs at the provider, outside the sandbox.
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

/** Not an OPENAI_ variable: Proctor removes those from every environment. */
const KEY_VARIABLE = 'PROCTOR_MODEL_KEY';

/** Every command would fail if Codex's own sandbox could not start. In that case, only Proctor's sandbox is used. */
function sandboxOf({ policy, nestedSandbox }: AgentCall): string {
  if (!nestedSandbox) return 'danger-full-access';
  return policy.execution_posture === 'read_only' ? 'read-only' : 'workspace-write';
}

function isOpenWithin({ policy, nestedSandbox }: AgentCall): boolean {
  return nestedSandbox && policy.execution_posture === 'workspace_write' && policy.network_posture === 'allow';
}

/** Without a model proxy, a missing key makes Codex exit at once. Otherwise it would wait for the network forever. */
function providerAt(url: string | undefined): string[] {
  const provider = {
    name: 'Proctor',
    base_url: url ?? NOWHERE,
    wire_api: 'responses',
    env_key: KEY_VARIABLE,
    ...(url === undefined && { env_key_instructions: 'The key for the model API is missing. Set OPENAI_API_KEY.' }),
    request_max_retries: RETRIES,
    stream_max_retries: RETRIES,
  };
  return [
    ...setting('model_provider', 'proctor'),
    ...Object.entries(provider).flatMap(([key, value]) => setting(`model_providers.proctor.${key}`, value)),
  ];
}

const RETRIES = 2;

/** Excludes AGENTS.md and skills. Codex ignores the project's settings unless the user trusts the project. */
function withoutContext(): readonly string[] {
  return [...setting('project_doc_max_bytes', 0), ...setting('skills.include_instructions', false)];
}

const NOWHERE = 'http://127.0.0.1:9';

/** TOML writes strings, numbers and booleans as JSON does. */
function setting(key: string, value: string | number | boolean): readonly string[] {
  return flag('-c', `${key}=${JSON.stringify(value)}`);
}

function* notesOf({ policy, nestedSandbox, maxTurns }: AgentCall): Generator<string> {
  const sandbox = nestedSandbox
    ? `codex runs commands in its own sandbox (-s ${policy.execution_posture === 'read_only' ? 'read-only' : 'workspace-write'}), inside Proctor's sandbox`
    : "codex's own sandbox is off, because it cannot start inside Proctor's sandbox; only Proctor's sandbox limits writes";
  yield `execution_posture: ${sandbox}`;
  const network = nestedSandbox ? 'both sandboxes keep' : "only Proctor's sandbox keeps";
  yield policy.network_posture === 'allow'
    ? "network_posture: codex may use the network if Proctor's sandbox allows it"
    : `network_posture: codex's web search is disabled; ${network} its commands off the network`;
  yield `approval_posture: codex exec never asks; blocked operations fail${APPROVAL[policy.approval_posture]}`;
  if (maxTurns !== undefined) yield 'turns: codex has no limit; Proctor counts them in its stream and stops it';
}

const APPROVAL = {
  fail_on_prompt: ', and Proctor stops it at the first such failure in its stream',
  deny_interactive: ', and Proctor records every such failure in its stream as a violation',
  bounded_auto_approve: ', and allowed operations need no approval',
} as const;
