/** A stand-in with Claude's version, flags and output format. The task lists its actions; see deeds.ts. */
import { execSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { act } from './act.ts';
import { askAs } from './asking.ts';
import type { Scene } from './scene.ts';
import { printLine } from './stream.ts';
import type { Call, Tongue } from './output-format.ts';
import { type AskModel, eventsIn } from './work.ts';

const args = process.argv.slice(2);
const after = (flag: string): string | undefined => args[args.indexOf(flag) + 1 || args.length];
const session_id = after('--session-id') ?? '00000000-0000-4000-8000-000000000000';
const model = after('--model') ?? 'claude-opus-5-5';
const usage = { input_tokens: 100, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 20 };
const DENIED = "Permission to use Write has been denied because Claude Code is running in don't ask mode.";
const denials: object[] = [];
let turns = 0;

const claude: Tongue = {
  version: '2.1.325 (Claude Code)',
  begin: () =>
    line({
      type: 'system',
      subtype: 'init',
      cwd: process.cwd(),
      tools: ['Bash', 'Edit', 'Read', 'Write'],
      mcp_servers: [],
      model,
      permissionMode: after('--permission-mode') ?? 'default',
      apiKeySource: 'apiKeyHelper',
      claude_code_version: '2.1.325',
      output_style: 'default',
    }),
  says: text => assistant([{ type: 'text', text }]),
  calls: call => assistant([{ type: 'tool_use', id: call.id, name: nameOf(call), input: inputOf(call) }]),
  returned: (call, content, exitCode) => result(call, content, exitCode !== 0),
  denied: call => {
    denials.push({ tool_name: nameOf(call), tool_use_id: call.id, tool_input: inputOf(call) });
    line({
      type: 'system',
      subtype: 'permission_denied',
      tool_name: nameOf(call),
      tool_use_id: call.id,
      decision_reason_type: 'mode',
      message: DENIED,
    });
    result(call, DENIED, true);
  },
  notWritten: (call, why) => {
    // Outside its work folder, Claude first asks for permission, which is denied.
    if (!call.what.startsWith('/work/')) claude.denied(call);
    else result(call, why, true);
  },
  asks: () => {
    assistant([{ type: 'tool_use', id: 'toolu_ask', name: 'AskUserQuestion', input: { questions: [] } }]);
  },
  retries: attempt =>
    line({
      type: 'system',
      subtype: 'api_retry',
      attempt,
      max_retries: 10,
      retry_delay_ms: 50,
      error_status: 529,
      error: 'overloaded',
    }),
  unknown: () => line({ type: 'weather_report', sky: 'blue', degrees: 21 }),
  finishes: text => {
    assistant([{ type: 'text', text }]);
    end({ is_error: false, subtype: 'success', terminal_reason: 'completed', api_error_status: null, result: text });
  },
  fails: status => {
    const text = `API Error: ${status} As the task asked.`;
    line({
      type: 'assistant',
      message: {
        id: 'msg_error',
        type: 'message',
        role: 'assistant',
        model: '<synthetic>',
        content: [{ type: 'text', text }],
      },
      parent_tool_use_id: null,
      error: 'server_error',
      is_api_error_message: true,
      api_error_status: status,
    });
    end({ is_error: true, subtype: 'success', terminal_reason: 'api_error', api_error_status: status, result: text });
  },
};

/** Sends the task and all results so far, as Claude does. */
const askModel: AskModel = async (task, done) => {
  const { apiKeyHelper, env } = settings();
  const messages = [
    { role: 'user', content: task },
    ...done.flatMap(({ id, command, output }) => [
      { role: 'assistant', content: [{ type: 'tool_use', id, name: 'Bash', input: { command } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: output }] },
    ]),
  ];
  const answer = await fetch(`${env['ANTHROPIC_BASE_URL']}/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...credentialOf(apiKeyHelper, env) },
    body: JSON.stringify({ model, messages, stream: true }),
  });
  if (!answer.ok) return { status: answer.status };
  const deltas = eventsIn(await answer.text()).flatMap(({ delta }) => (delta ? [delta as Delta] : []));
  const input = deltas.map(({ partial_json = '' }) => partial_json).join('');
  if (input !== '') return { command: (JSON.parse(input) as { command: string }).command };
  return { text: deltas.map(({ text = '' }) => text).join('') };
};

interface Delta {
  readonly text?: string;
  readonly partial_json?: string;
}

const deeds = {
  /** Calls the model at the configured address, and says whether it answered. */
  model: async (_scene: Scene, scenario = 'say') => {
    const { apiKeyHelper, env } = settings();
    const answer = await fetch(`${env['ANTHROPIC_BASE_URL']}/v1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...credentialOf(apiKeyHelper, env) },
      body: JSON.stringify({
        model,
        messages: [{ role: 'user', content: `Hello? SCENARIO=${scenario}` }],
        stream: true,
      }),
    });
    const said = await answer.text();
    claude.says(answer.ok ? 'I know what to do.' : `The model does not answer: ${answer.status} ${said}`);
  },
  /** Sends the request in the argument to the model, and prints nothing. */
  request: async (_scene: Scene, argument: string | undefined) => {
    const { apiKeyHelper, env } = settings();
    const headers = credentialOf(apiKeyHelper, env);
    const body = { model, messages: [{ role: 'user', content: 'Hello?' }], stream: true };
    await askAs({ url: env['ANTHROPIC_BASE_URL'] ?? '', path: '/v1/messages', body, headers }, argument);
  },
};

act(claude, deeds, process.env['STAND_IN_WORKS'] === undefined ? undefined : askModel);

function settings(): Settings {
  return JSON.parse(readFileSync(after('--settings') ?? '', 'utf8')) as Settings;
}

interface Settings {
  readonly apiKeyHelper?: string;
  readonly env: Readonly<Record<string, string>>;
}

function credentialOf(apiKeyHelper: string | undefined, env: Settings['env']): Record<string, string> {
  if (apiKeyHelper !== undefined) return { 'x-api-key': execSync(apiKeyHelper, { encoding: 'utf8' }).trim() };
  const oauth = env['CLAUDE_CODE_OAUTH_TOKEN'];
  return {
    authorization: `Bearer ${oauth ?? env['ANTHROPIC_AUTH_TOKEN']}`,
    ...(oauth !== undefined && { 'anthropic-beta': 'oauth-2025-04-20' }),
  };
}

function line(fields: object): void {
  printLine({ ...fields, session_id, uuid: '00000000-0000-4000-8000-000000000001' });
}

function assistant(content: readonly object[]): void {
  turns += 1;
  line({
    type: 'assistant',
    message: { id: `msg_${turns}`, type: 'message', role: 'assistant', model, content, stop_reason: null, usage },
    parent_tool_use_id: null,
  });
}

function result({ id }: Call, content: string, is_error: boolean): void {
  line({
    type: 'user',
    message: { role: 'user', content: [{ tool_use_id: id, type: 'tool_result', content, is_error }] },
    parent_tool_use_id: null,
  });
}

function end(fields: object): void {
  const costUSD = 0.0008 * turns;
  line({
    type: 'result',
    duration_ms: 1000,
    duration_api_ms: 83,
    num_turns: turns,
    stop_reason: 'end_turn',
    total_cost_usd: costUSD,
    usage,
    modelUsage: { [model]: { inputTokens: 100 * turns, outputTokens: 20 * turns, cacheReadInputTokens: 0, costUSD } },
    permission_denials: denials,
    ...fields,
  });
}

function nameOf({ tool }: Call): string {
  return tool === 'command' ? 'Bash' : 'Write';
}

function inputOf({ tool, what }: Call): object {
  return tool === 'command' ? { command: what, description: 'A command' } : { file_path: what, content: 'text\n' };
}
