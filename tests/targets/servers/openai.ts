import type { Told, ToldCall } from './kind.ts';
import {
  asDocument,
  type Asked,
  asEvent,
  bearerOf,
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

const AUTH = { bearer: '${env:AGENT_TOKEN}' };
const PRICE = { input: 0.5, output: 2 };

function questionIn(asked: Asked, path: string, isStream: boolean): void {
  requires(bearerOf(asked), 'bearer token');
  requires(asked.method === 'POST' && asked.path === path, 'path');
  requires(asked.body['model'] === 'support-large', 'model');
  requires((asked.body['stream'] === true) === isStream, 'stream');
}

const chat = (isStream: boolean): Protocol => ({
  name: isStream ? 'openai-chat (stream)' : 'openai-chat',
  can: { tools: 'proposals', usage: true, model: true, failure: true, stream: isStream },
  declaration: url => ({
    kind: 'openai-chat',
    url: `${url}/v1`,
    auth: AUTH,
    model: 'support-large',
    system: 'Answer briefly.',
    ...(isStream && { stream: true }),
    parameters: { temperature: 0 },
    price: PRICE,
  }),
  framed: isStream ? asEvent : asDocument,
  speak: () => ({
    hear(asked) {
      questionIn(asked, '/v1/chat/completions', isStream);
      return textAt((asked.body['messages'] as unknown[]).at(-1), 'content');
    },
    answer: (told, _asked, response) =>
      isStream ? sendFrames(response, chunksOf(told)) : sendJson(response, completionOf(told)),
  }),
});

export const openaiChat = chat(false);
export const openaiChatStream = chat(true);

const CHAT_USAGE = {
  prompt_tokens: TOKENS.input,
  completion_tokens: TOKENS.output,
  total_tokens: TOKENS.input + TOKENS.output,
};

const COMPLETION = { id: 'chatcmpl-1', created: 1_790_000_000, model: MODEL };

/** Gateways report failures of the model behind them with status 200. */
const failureOf = (message: string): object => ({ error: { message, type: 'server_error', param: null, code: null } });

function completionOf({ text, calls = [], failure }: Told): object {
  if (failure !== undefined) return failureOf(failure);
  const toolCalls = calls.map(({ id, name, args }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
  }));
  const message = {
    role: 'assistant',
    content: text === '' ? null : text,
    refusal: null,
    ...(calls.length > 0 && { tool_calls: toolCalls }),
  };
  const finish = calls.length > 0 ? 'tool_calls' : 'stop';
  return {
    ...COMPLETION,
    object: 'chat.completion',
    choices: [{ index: 0, message, logprobs: null, finish_reason: finish }],
    usage: CHAT_USAGE,
  };
}

function chunksOf({ text, calls = [], failure }: Told): string[] {
  const chunk = (delta: object, finish: string | null = null): string =>
    sse({
      ...COMPLETION,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      usage: null,
    });
  const start = chunk({ role: 'assistant', content: text === '' ? null : '', refusal: null });
  if (failure !== undefined) return [start, sse(failureOf(failure))];
  return [
    start,
    ...pieces(text).map(content => chunk({ content })),
    ...calls.flatMap(({ id, name, args }, index) => [
      chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
      ...pieces(JSON.stringify(args)).map(part => chunk({ tool_calls: [{ index, function: { arguments: part } }] })),
    ]),
    chunk({}, calls.length > 0 ? 'tool_calls' : 'stop'),
    sse({ ...COMPLETION, object: 'chat.completion.chunk', choices: [], usage: CHAT_USAGE }),
    'data: [DONE]\n\n',
  ];
}

const responses = (isStream: boolean): Protocol => ({
  name: isStream ? 'openai-responses (stream)' : 'openai-responses',
  can: { tools: 'results', usage: true, model: true, failure: true, stream: isStream },
  declaration: url => ({
    kind: 'openai-responses',
    url: `${url}/v1/`,
    auth: AUTH,
    model: 'support-large',
    system: 'Answer briefly.',
    ...(isStream && { stream: true }),
    price: PRICE,
  }),
  framed: isStream ? asEvent : asDocument,
  speak: () => ({
    hear(asked) {
      questionIn(asked, '/v1/responses', isStream);
      requires(asked.body['instructions'] === 'Answer briefly.', 'instructions');
      return textAt(asked.body, 'input');
    },
    answer: (told, _asked, response) =>
      isStream ? sendFrames(response, responseEvents(told)) : sendJson(response, responseOf(told)),
  }),
});

export const openaiResponses = responses(false);
export const openaiResponsesStream = responses(true);

function responseOf({ text, calls = [], failure }: Told): object {
  const isGood = failure === undefined;
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 1_790_000_000,
    status: isGood ? 'completed' : 'failed',
    error: isGood ? null : { code: 'server_error', message: failure },
    incomplete_details: null,
    instructions: 'Answer briefly.',
    metadata: {},
    model: MODEL,
    output: isGood ? [REASONING, ...calls.map(mcpCall), ...(text === '' ? [] : [messageOf(text)])] : [],
    parallel_tool_calls: true,
    temperature: 1,
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    usage: isGood ? RESPONSE_USAGE : null,
  };
}

const RESPONSE_USAGE = {
  input_tokens: TOKENS.input,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: TOKENS.output,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: TOKENS.input + TOKENS.output,
};

const REASONING = { id: 'rs_1', type: 'reasoning', summary: [] };

const messageOf = (text: string): object => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [] }],
});

const mcpCall = ({ id, name, args, result, hasFailed }: ToldCall): object => ({
  id,
  type: 'mcp_call',
  server_label: 'desk',
  name,
  arguments: JSON.stringify(args),
  output: hasFailed ? null : result,
  error: hasFailed ? result : null,
  status: hasFailed ? 'failed' : 'completed',
});

function responseEvents(told: Told): string[] {
  let sequence = 0;
  const event = (type: string, data: object): string => sse({ type, sequence_number: sequence++, ...data }, type);
  const whole = responseOf(told);
  const begun = { ...whole, status: 'in_progress', error: null, output: [], usage: null };
  const item = { item_id: 'msg_1', output_index: 1, content_index: 0 };
  return [
    event('response.created', { response: begun }),
    event('response.reasoning_summary_text.delta', { item_id: 'rs_1', output_index: 0, summary_index: 0, delta: 'Hm' }),
    ...(told.calls ?? []).flatMap(({ id, args }) =>
      pieces(JSON.stringify(args)).map(delta =>
        event('response.mcp_call_arguments.delta', { item_id: id, output_index: 0, delta }),
      ),
    ),
    ...(told.failure === undefined ? pieces(told.text) : []).map(delta =>
      event('response.output_text.delta', { ...item, delta, logprobs: [] }),
    ),
    event(told.failure === undefined ? 'response.completed' : 'response.failed', { response: whole }),
  ];
}
