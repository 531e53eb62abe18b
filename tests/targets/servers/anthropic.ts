import type { Told, ToldCall } from './kind.ts';
import {
  asDocument,
  asEvent,
  MODEL,
  type Protocol,
  pieces,
  requires,
  sendFrames,
  sendJson,
  sse,
  textAt,
  TOKENS,
} from './protocol-server.ts';

const messages = (isStream: boolean): Protocol => ({
  name: isStream ? 'anthropic-messages (stream)' : 'anthropic-messages',
  can: { tools: 'results', usage: true, model: true, failure: true, stream: isStream },
  declaration: url => ({
    kind: 'anthropic-messages',
    url: `${url}/v1`,
    headers: { 'X-Api-Key': '${env:AGENT_TOKEN}' },
    model: 'support-large',
    system: 'Answer briefly.',
    ...(isStream && { stream: true }),
    price: { input: 0.5, output: 2 },
  }),
  framed: isStream ? asEvent : asDocument,
  speak: () => ({
    hear({ method, path, headers, body }) {
      requires(method === 'POST' && path === '/v1/messages', 'path');
      requires(headers['x-api-key'] ?? headers.authorization, 'x-api-key');
      requires(VERSIONS.has(headers['anthropic-version']), 'anthropic-version');
      requires(body['model'] === 'support-large' && Number.isInteger(body['max_tokens']), 'model or max_tokens');
      requires((body['stream'] === true) === isStream, 'stream');
      return textAt(body, 'messages', 0, 'content');
    },
    answer: (told, _asked, response) =>
      isStream ? sendFrames(response, eventsOf(told)) : sendJson(response, messageOf(told)),
  }),
});

export const anthropicMessages = messages(false);
export const anthropicMessagesStream = messages(true);

/** The kind sends the first, and the published client the second. What the mapping reads is the same in both. */
const VERSIONS: ReadonlySet<unknown> = new Set(['2023-06-01', '2026-10-21']);

const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', model: MODEL, stop_sequence: null };

const failureOf = (message: string): object => ({ type: 'error', error: { type: 'overloaded_error', message } });

function messageOf({ text, calls = [], failure }: Told): object {
  if (failure !== undefined) return failureOf(failure);
  return {
    ...MESSAGE,
    content: [
      ...calls.flatMap(call => [{ ...useOf(call), input: call.args }, resultOf(call)]),
      ...(text === '' ? [] : [{ type: 'text', text, citations: null }]),
    ],
    stop_reason: 'end_turn',
    usage: { input_tokens: TOKENS.input, output_tokens: TOKENS.output },
  };
}

const useOf = ({ id, name }: ToldCall): object => ({ type: 'mcp_tool_use', id, name, server_name: 'desk' });

const resultOf = ({ id, result, hasFailed }: ToldCall): object => ({
  type: 'mcp_tool_result',
  tool_use_id: id,
  // Absent means success.
  ...(hasFailed && { is_error: true }),
  content: [{ type: 'text', text: result }],
});

function eventsOf({ text, calls = [], failure }: Told): string[] {
  const event = (type: string, data: object): string => sse({ type, ...data }, type);
  const blocks: string[][] = [];
  const block = (start: object, deltas: readonly object[]): void => {
    const index = blocks.length;
    blocks.push([
      event('content_block_start', { index, content_block: start }),
      ...deltas.map(delta => event('content_block_delta', { index, delta })),
      event('content_block_stop', { index }),
    ]);
  };
  for (const call of calls) {
    const json = pieces(JSON.stringify(call.args));
    block(
      { ...useOf(call), input: {} },
      json.map(piece => ({ type: 'input_json_delta', partial_json: piece })),
    );
    block(resultOf(call), []);
  }
  const texts = pieces(text).map(piece => ({ type: 'text_delta', text: piece }));
  if (text !== '') block({ type: 'text', text: '', citations: null }, texts);
  const usage = { input_tokens: TOKENS.input, output_tokens: 1 };
  const start = event('message_start', { message: { ...MESSAGE, content: [], stop_reason: null, usage } });
  if (failure !== undefined) return [start, sse(failureOf(failure), 'error')];
  return [
    start,
    event('ping', {}),
    ...blocks.flat(),
    event('message_delta', {
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: TOKENS.output },
    }),
    event('message_stop', {}),
  ];
}
