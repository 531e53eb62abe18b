import { describe, expect, test } from 'vitest';
import type { TargetDeclaration } from '../../src/contracts/target/index.ts';
import { declaredReader } from '../../src/targets/reader.ts';

const url = 'http://127.0.0.1:1';
const model = { url, model: 'm' };
const said = 'Refund approved';

const sse = (...frames: readonly object[]): string =>
  frames.map(frame => `data: ${JSON.stringify(frame)}\n\n`).join('');
const a2aTask = (state: string, text: string): object => ({
  result: { task: { status: { state, message: { parts: [{ text }] } }, artifacts: [{ parts: [{ text: said }] }] } },
});
const chatAnswer = { choices: [{ message: { role: 'assistant', content: said } }] };
const chatFrame = { choices: [{ delta: { role: 'assistant', content: said } }] };
const anthropicFrames = [
  { type: 'message_start', message: { role: 'assistant' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: said } },
];
const agUiFrames = [
  { type: 'TEXT_MESSAGE_START', messageId: 'm' },
  { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: said },
];
const output = [{ type: 'message', content: [{ type: 'output_text', text: said }] }];

/** Each reply also has an answer, which must not count. */
const FAILURES: readonly (readonly [string, TargetDeclaration, string])[] = [
  ['openai-chat', { kind: 'openai-chat', ...model }, JSON.stringify({ ...chatAnswer, error: 'overloaded' })],
  [
    'a stream of openai-chat',
    { kind: 'openai-chat', ...model, stream: true },
    sse(chatFrame, { error: { code: 500 } }),
  ],
  ['openai-responses', { kind: 'openai-responses', ...model }, JSON.stringify({ output, error: { code: 'x' } })],
  [
    'anthropic',
    { kind: 'anthropic-messages', ...model, stream: true },
    sse(...anthropicFrames, { type: 'error', error: { type: 'api_error' } }),
  ],
  ['ag-ui', { kind: 'ag-ui', url }, sse(...agUiFrames, { type: 'RUN_ERROR', code: 'x' })],
  ['a2a, with an empty text', { kind: 'a2a', url }, JSON.stringify(a2aTask('TASK_STATE_FAILED', ''))],
  [
    'mcp-tool, with an empty text',
    { kind: 'mcp-tool', url, tool: 't', arguments: {} },
    JSON.stringify({
      id: 1,
      result: { isError: true, content: [{ type: 'text', text: '' }], structuredContent: { said } },
    }),
  ],
  [
    'mcp-tool, with an empty message',
    { kind: 'mcp-tool', url, tool: 't', arguments: {} },
    JSON.stringify({ id: 1, error: { code: 1, message: '' }, result: { structuredContent: { said } } }),
  ],
];

const RESPONSES: TargetDeclaration = { kind: 'openai-responses', ...model };

describe('a state other than success is a failure', () => {
  test.each<[string, TargetDeclaration, object]>([
    ['a task that is still working', { kind: 'a2a', url }, a2aTask('TASK_STATE_WORKING', 'Wait')],
    ['a task that was submitted', { kind: 'a2a', url }, a2aTask('TASK_STATE_SUBMITTED', 'Wait')],
    ['a response that failed', RESPONSES, { status: 'failed', error: null, output }],
    ['a response in progress', RESPONSES, { status: 'in_progress', error: null, output }],
  ])('for %s', (_, declaration, reply) => {
    expect(readAs(declaration, JSON.stringify(reply))).toMatchObject({ ok: false, errorName: 'AGENT_FAILED' });
  });

  test('for a call that the provider made', () => {
    const call = { type: 'mcp_call', id: 'm', name: 't', arguments: '{}', status: 'failed', error: null };
    const reading = readAs(RESPONSES, JSON.stringify({ status: 'completed', output: [call, ...output] }));
    const events = [{ type: 'tool_call' }, { type: 'tool_result', status: 'error' }];
    expect(reading).toMatchObject({ ok: true, reply: { events } });
  });
});

function readAs(declaration: TargetDeclaration, body: string) {
  return declaredReader(declaration, true, 10_000)({ body: Buffer.from(body) }, { caseId: 'c', side: 'new' });
}

describe('a failure without a message is still a failure', () => {
  test.each(FAILURES)('in %s', (_, declaration, body) => {
    const reading = declaredReader(
      declaration,
      true,
      10_000,
    )({ body: Buffer.from(body) }, { caseId: 'c', side: 'new' });
    expect(reading).toMatchObject({ ok: false, errorName: 'AGENT_FAILED' });
  });
});

test('a stream of openai-chat includes calls of custom tools', () => {
  const call = (custom: object, id?: string) => ({
    choices: [{ delta: { role: 'assistant', tool_calls: [{ index: 0, id, custom }] } }],
  });
  const body = `${sse(call({ name: 'shell', input: 'rm' }, 'a'), call({ input: ' x' }))}data: [DONE]\n\n`;
  const declaration: TargetDeclaration = { kind: 'openai-chat', ...model, stream: true };
  const reading = declaredReader(declaration, true, 10_000)({ body: Buffer.from(body) }, { caseId: 'c', side: 'new' });
  const events = [{ type: 'tool_call', tool: 'shell', call_id: 'a', args: { input: 'rm x' } }];
  expect(reading).toMatchObject({ ok: true, reply: { events }, repairs: { R2: 1 } });
});

test('a form that finds an empty text does not hide a failure that a later form finds', () => {
  const declaration: TargetDeclaration = {
    kind: 'http',
    url,
    request: {},
    reply: { final_output: '$.out', failed: { first_of: ['$.error', '$.none', '$.fault'] } },
  };
  const read = (reply: object) =>
    declaredReader(
      declaration,
      true,
      10_000,
    )({ body: Buffer.from(JSON.stringify(reply)) }, { caseId: 'c', side: 'new' });
  expect(read({ out: said, error: '', fault: 'boom' })).toMatchObject({
    message: 'The agent reported a failure: boom',
  });
  expect(read({ out: said, error: false, fault: '' })).toMatchObject({ ok: true });
});

const CHAT: TargetDeclaration = { kind: 'openai-chat', ...model };
const CHAT_STREAM: TargetDeclaration = { ...CHAT, stream: true };
const MESSAGES: TargetDeclaration = { kind: 'anthropic-messages', ...model };
const GRAPH: TargetDeclaration = { kind: 'langgraph', url, assistant: 'a' };
const AG_UI: TargetDeclaration = { kind: 'ag-ui', url };

describe('a run of ag-ui', () => {
  test.each([
    ['waits for a person', { outcome: { type: 'interrupt', interrupts: [{ id: 'i', reason: 'tool_call' }] } }],
    ['was cancelled', { outcome: { type: 'cancelled' } }],
    ['has the outcome interrupt as a string', { outcome: 'interrupt' }],
    ['has an outcome that Proctor does not know', { outcome: { type: 'paused' } }],
    ['has an outcome without a type', { outcome: {} }],
  ])('fails if it %s', (_, finished) => {
    const body = sse(...agUiFrames, { type: 'RUN_FINISHED', runId: 'r', ...finished });
    expect(readAs(AG_UI, body)).toMatchObject({ ok: false, errorName: 'AGENT_FAILED' });
  });

  test('fails if an agent on LangGraph asks a person', () => {
    const asks = { type: 'CUSTOM', name: 'on_interrupt', value: 'Approve?' };
    const body = sse(...agUiFrames, asks, { type: 'RUN_FINISHED', runId: 'r' });
    expect(readAs(AG_UI, body)).toMatchObject({ ok: false, errorName: 'AGENT_FAILED' });
  });

  test.each([[{}], [{ outcome: null }], [{ outcome: { type: 'success' } }], [{ outcome: 'success' }]])(
    'succeeds with %j',
    finished => {
      const body = sse(...agUiFrames, { type: 'RUN_FINISHED', runId: 'r', ...finished });
      expect(readAs(AG_UI, body)).toMatchObject({ ok: true, reply: { final_output: { content: said } } });
    },
  );
});

const finished = (finish_reason: string | null) => ({
  choices: [{ message: { role: 'assistant', content: said }, finish_reason }],
});
const chunks = (finish_reason: string) =>
  `${sse(chatFrame, { choices: [{ delta: {}, finish_reason }] }, { choices: [] })}data: [DONE]\n\n`;
const message = (stop_reason: string) => ({
  role: 'assistant',
  content: [{ type: 'text', text: said }],
  stop_reason,
});
const messageStream = (stop_reason: string) =>
  sse(...anthropicFrames, { type: 'message_delta', delta: { stop_reason } }, { type: 'message_stop' });
const state = (response_metadata: object) => ({ messages: [{ type: 'ai', content: said, response_metadata }] });

describe('an answer that stopped early is a failure', () => {
  const incomplete = (reason: string) => ({ status: 'incomplete', incomplete_details: { reason }, output });
  test.each<[string, TargetDeclaration, string | object]>([
    ['openai-chat, length', CHAT, finished('length')],
    ['openai-chat, content_filter', CHAT, finished('content_filter')],
    ['a stream of openai-chat, length', CHAT_STREAM, chunks('length')],
    ['a stream of openai-chat, content_filter', CHAT_STREAM, chunks('content_filter')],
    ['openai-responses, max_output_tokens', RESPONSES, incomplete('max_output_tokens')],
    ['openai-responses, content_filter', RESPONSES, incomplete('content_filter')],
    ['openai-responses without a reason', RESPONSES, { status: 'incomplete', output }],
    [
      'a stream of openai-responses',
      { kind: 'openai-responses', ...model, stream: true },
      sse({ type: 'response.incomplete', response: incomplete('max_output_tokens') }),
    ],
    ['anthropic-messages, max_tokens', MESSAGES, message('max_tokens')],
    ['anthropic-messages, refusal', MESSAGES, message('refusal')],
    ['anthropic-messages, pause_turn', MESSAGES, message('pause_turn')],
    [
      'a stream of anthropic-messages',
      { kind: 'anthropic-messages', ...model, stream: true },
      messageStream('refusal'),
    ],
    ['langgraph with an OpenAI model', GRAPH, state({ finish_reason: 'length' })],
    ['langgraph with an Anthropic model', GRAPH, state({ stop_reason: 'max_tokens' })],
  ])('in %s', (_, declaration, reply) => {
    const body = typeof reply === 'string' ? reply : JSON.stringify(reply);
    expect(readAs(declaration, body)).toMatchObject({ ok: false, errorName: 'AGENT_FAILED' });
  });

  test.each<[string, TargetDeclaration, string | object]>([
    ['openai-chat, stop', CHAT, finished('stop')],
    ['openai-chat without a reason', CHAT, finished(null)],
    ['openai-chat, a reason that Proctor does not know', CHAT, finished('eos')],
    ['a stream of openai-chat, tool_calls', CHAT_STREAM, chunks('tool_calls')],
    ['anthropic-messages, end_turn', MESSAGES, message('end_turn')],
    ['a stream of anthropic-messages, tool_use', { ...MESSAGES, stream: true }, messageStream('tool_use')],
    ['langgraph, stop', GRAPH, state({ finish_reason: 'stop' })],
  ])('but a complete answer is not: %s', (_, declaration, reply) => {
    const body = typeof reply === 'string' ? reply : JSON.stringify(reply);
    expect(readAs(declaration, body)).toMatchObject({ ok: true });
  });
});

test('the state of a graph that ends with the question is not an answer', () => {
  for (const last of [{ role: 'user' }, { type: 'human' }]) {
    const reply = {
      messages: [
        { type: 'ai', content: 'x' },
        { ...last, content: said },
      ],
    };
    expect(readAs(GRAPH, JSON.stringify(reply))).toMatchObject({ ok: false, errorName: 'AGENT_FAILED' });
  }
});

describe('a task of a2a', () => {
  const OLD: TargetDeclaration = { kind: 'a2a', url, protocol: '0.3' };
  const NEW: TargetDeclaration = { kind: 'a2a', url };
  const artifacts = [{ parts: [{ kind: 'text', text: said }] }];
  const old = (status: object) => ({ result: { kind: 'task', id: 't', status, artifacts } });
  const now = (status: object) => ({ result: { task: { id: 't', status, artifacts, metadata: { state: 'x' } } } });
  test.each<[string, TargetDeclaration, object]>([
    ['without a state', NEW, now({})],
    ['in a state of the other version', NEW, now({ state: 'failed' })],
    ['in an unspecified state', NEW, now({ state: 'TASK_STATE_UNSPECIFIED' })],
    ['without a state in version 0.3', OLD, old({})],
    ['in the state “unknown” of version 0.3', OLD, old({ state: 'unknown' })],
  ])('is not an answer %s', (_, declaration, reply) => {
    expect(readAs(declaration, JSON.stringify(reply))).toMatchObject({ ok: false, errorName: 'AGENT_FAILED' });
  });

  test.each<[string, TargetDeclaration, object]>([
    ['is complete', NEW, now({ state: 'TASK_STATE_COMPLETED' })],
    ['requires input', NEW, now({ state: 'TASK_STATE_INPUT_REQUIRED' })],
    ['is complete in version 0.3', OLD, old({ state: 'completed' })],
  ])('is an answer if it %s', (_, declaration, reply) => {
    expect(readAs(declaration, JSON.stringify(reply))).toMatchObject({ ok: true });
  });

  test('needs a state, but a message does not', () => {
    const parts = [{ kind: 'text', text: said }];
    const message = { result: { message: { messageId: 'm', parts } } };
    expect(readAs(NEW, JSON.stringify(message))).toMatchObject({ ok: true });
    const before = { result: { kind: 'message', messageId: 'm', parts } };
    expect(readAs(OLD, JSON.stringify(before))).toMatchObject({ ok: true });
  });
});

test.each([
  ['isError as a string', { isError: 'true', structuredContent: { said } }],
  ['a task that is still running', { resultType: 'task', structuredContent: { said } }],
  ['a request for input', { resultType: 'input_required', structuredContent: { said } }],
])('a result of an MCP tool with %s is not an answer', (_, result) => {
  const declaration: TargetDeclaration = { kind: 'mcp-tool', url, tool: 't', arguments: {} };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, result });
  expect(readAs(declaration, body)).toMatchObject({ ok: false, errorName: 'AGENT_FAILED' });
});

test.each([[{}], [{ isError: false }], [{ isError: null, resultType: 'complete' }]])(
  'a result of an MCP tool with %j is an answer',
  fields => {
    const declaration: TargetDeclaration = { kind: 'mcp-tool', url, tool: 't', arguments: {} };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { ...fields, structuredContent: { said } } });
    expect(readAs(declaration, body)).toMatchObject({ ok: true });
  },
);
