/**
 * A stand-in with Codex's version, flags, output format and last-message file. The task lists its actions; see
 * deeds.ts.
 */
import { writeFileSync } from 'node:fs';
import { act } from './act.ts';
import { askAs } from './asking.ts';
import type { Scene } from './scene.ts';
import { print, printLine } from './stream.ts';
import type { Call, Tongue } from './output-format.ts';
import { type AskModel, eventsIn } from './work.ts';

const args = process.argv.slice(2);
const at = args.findIndex(arg => arg === '-o' || arg === '--output-last-message');
const lastMessageFile = at < 0 ? undefined : args[at + 1];
let leavesLastMessage = true;
let turns = 0;

// Codex's own sandbox does not start inside another.
if (args[0] === 'sandbox') process.exit(1);

const codex: Tongue = {
  version: 'codex-cli 0.166.0',
  begin: () => {
    if (args.at(-1) !== '-') print('Reading additional input from stdin...\n', 2);
    printLine({ type: 'thread.started', thread_id: '01a1e070-0000-7000-8000-000000000000' });
    printLine({ type: 'turn.started' });
  },
  says: text => item('completed', { id: `item_m${++turns}`, type: 'agent_message', text }),
  calls: call => {
    turns += 1;
    item('started', itemOf(call, '', null, 'in_progress'));
  },
  returned: (call, output, exitCode) =>
    item('completed', itemOf(call, output, exitCode, exitCode === 0 ? 'completed' : 'failed')),
  denied: call => item('completed', itemOf(call, 'rejected: blocked by policy', null, 'declined')),
  notWritten: call => item('completed', itemOf(call, '', null, 'failed')),
  asks: () => {},
  retries: attempt =>
    printLine({
      type: 'error',
      message:
        attempt <= 5
          ? `Reconnecting... ${attempt}/5 (stream disconnected before completion: error sending request)`
          : 'Reconnecting... waiting for network (Connection failed: error sending request)',
    }),
  unknown: () => printLine({ type: 'weather.reported', sky: 'blue', degrees: 21 }),
  finishes: text => {
    codex.says(text);
    if (lastMessageFile !== undefined && leavesLastMessage) writeFileSync(lastMessageFile, text);
    printLine({
      type: 'turn.completed',
      usage: {
        input_tokens: 100 * turns,
        cached_input_tokens: 40 * turns,
        cache_write_input_tokens: 0,
        output_tokens: 20 * turns,
        reasoning_output_tokens: 5 * turns,
      },
    });
  },
  fails: status => {
    const message = `unexpected status ${status}: As the task asked, url: http://127.0.0.1:8417/v1/responses`;
    printLine({ type: 'error', message });
    printLine({ type: 'turn.failed', error: { message } });
  },
};

const model = args[args.indexOf('-m') + 1 || args.length] ?? 'gpt-6.1-sol';

/** Sends the task and all results so far, as Codex does. */
const askModel: AskModel = async (task, done) => {
  const input = [
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: task }] },
    ...done.flatMap(({ id, command, output }) => [
      { type: 'function_call', call_id: id, name: 'exec_command', arguments: JSON.stringify({ cmd: command }) },
      { type: 'function_call_output', call_id: id, output },
    ]),
  ];
  const answer = await fetch(`${baseUrl()}/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${process.env['PROCTOR_MODEL_KEY']}` },
    body: JSON.stringify({ model, input, stream: true }),
  });
  if (!answer.ok) return { status: answer.status };
  const items = eventsIn(await answer.text()).flatMap(({ item }) => (item ? [item as Item] : []));
  const call = items.find(({ type }) => type === 'function_call');
  if (call) return { command: (JSON.parse(call.arguments ?? '{}') as { cmd: string }).cmd };
  return { text: items.flatMap(({ content = [] }) => content.map(({ text }) => text)).join('') };
};

interface Item {
  readonly type: string;
  readonly arguments?: string;
  readonly content?: readonly { readonly text: string }[];
}

function baseUrl(): string {
  return /base_url="([^"]+)"/.exec(args.join(' '))?.[1] ?? '';
}

const deeds = {
  /** Calls the model at the configured address, and says whether it answered. */
  model: async (_scene: Scene, scenario = 'say') => {
    const answer = await fetch(`${baseUrl()}/responses`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${process.env['PROCTOR_MODEL_KEY']}`,
        'chatgpt-account-id': 'one-that-the-agent-made-up',
      },
      body: JSON.stringify({ model: 'm', input: `Hello? SCENARIO=${scenario}`, stream: true }),
    });
    const said = await answer.text();
    codex.says(answer.ok ? 'I know what to do.' : `The model does not answer: ${answer.status} ${said}`);
  },
  /** Codex calls this warning an error. */
  warn: () => item('completed', { id: 'item_w', type: 'error', message: 'Model metadata for `m` not found.' }),
  /** Sends the request in the argument to the model, and prints nothing. */
  request: async (_scene: Scene, argument: string | undefined) => {
    const headers = { authorization: `Bearer ${process.env['PROCTOR_MODEL_KEY'] ?? ''}` };
    const body = { model: 'gpt-6.1-sol', input: [{ type: 'message', role: 'user', content: 'Hello?' }], stream: true };
    await askAs({ url: baseUrl(), path: '/responses', body, headers }, argument);
  },
  no_last_message: () => {
    leavesLastMessage = false;
  },
};

act(codex, deeds, process.env['STAND_IN_WORKS'] === undefined ? undefined : askModel);

function item(when: 'started' | 'completed', fields: object): void {
  printLine({ type: `item.${when}`, item: fields });
}

function itemOf({ id, tool, what }: Call, aggregated_output: string, exit_code: number | null, status: string): object {
  return tool === 'command'
    ? { id, type: 'command_execution', command: `/bin/bash -lc '${what}'`, aggregated_output, exit_code, status }
    : { id, type: 'file_change', changes: [{ path: what, kind: 'add' }], status };
}
