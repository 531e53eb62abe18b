import { describe, expect, test } from 'vitest';
import type { TargetDeclaration } from '../../src/contracts/target/index.ts';
import { declaredReader } from '../../src/targets/reader.ts';

const url = 'http://127.0.0.1:1';
const model = { url, model: 'm' };

const sse = (...frames: readonly object[]): string =>
  `${frames.map(frame => `data: ${JSON.stringify(frame)}\n\n`).join('')}data: [DONE]\n\n`;

function eventsIn(declaration: TargetDeclaration, reply: string | object): readonly unknown[] {
  const body = Buffer.from(typeof reply === 'string' ? reply : JSON.stringify(reply));
  const reading = declaredReader(declaration, true, 10_000)({ body }, { caseId: 'c', side: 'new' });
  if (!reading.ok) throw new Error(reading.message);
  return reading.reply.events;
}

/** No expectation about tools may hold only because Proctor overlooked a call. */
describe('a call is visible', () => {
  const CHAT: TargetDeclaration = { kind: 'openai-chat', ...model };
  const delta = (fields: object) => ({ choices: [{ delta: { role: 'assistant', ...fields } }] });

  test('in a stream of openai-chat without ids', () => {
    const piece = (index: number, fields: object) => delta({ tool_calls: [{ index, function: fields }] });
    const body = sse(
      piece(0, { name: 'refunds.create', arguments: '' }),
      piece(0, { arguments: '{"order":' }),
      piece(0, { name: null, arguments: '1}' }),
      piece(1, { name: 'orders.get', arguments: '{}' }),
    );
    expect(eventsIn({ ...CHAT, stream: true }, body)).toMatchObject([
      { type: 'tool_call', tool: 'refunds.create', args: { order: 1 } },
      { type: 'tool_call', tool: 'orders.get', args: {} },
    ]);
  });

  test('in a stream of openai-chat without an index', () => {
    const body = sse(delta({ tool_calls: [{ function: { name: 'refunds.create', arguments: '{"order":1}' } }] }));
    expect(eventsIn({ ...CHAT, stream: true }, body)).toMatchObject([{ tool: 'refunds.create', args: { order: 1 } }]);
  });

  test('in openai-chat, as a function_call', () => {
    const call = { name: 'refunds.create', arguments: '{"order":1}' };
    const reply = { choices: [{ message: { role: 'assistant', content: null, function_call: call } }] };
    expect(eventsIn(CHAT, reply)).toMatchObject([{ type: 'tool_call', tool: 'refunds.create', args: { order: 1 } }]);
    const none = { choices: [{ message: { role: 'assistant', content: 'Hi', function_call: null } }] };
    expect(eventsIn(CHAT, none)).toEqual([]);
  });

  test('in a stream of openai-chat, as a function_call', () => {
    const body = sse(
      delta({ function_call: { name: 'refunds.create', arguments: '' } }),
      delta({ function_call: { arguments: '{"order":' } }),
      delta({ function_call: { arguments: '1}' } }),
      delta({ function_call: null }),
    );
    expect(eventsIn({ ...CHAT, stream: true }, body)).toMatchObject([{ tool: 'refunds.create', args: { order: 1 } }]);
  });

  const RESPONSES: TargetDeclaration = { kind: 'openai-responses', ...model };
  test.each<[type: string, item: object, event: object]>([
    ['function_call', { name: 'f', call_id: 'c', arguments: '{"a":1}' }, { tool: 'f', call_id: 'c', args: { a: 1 } }],
    ['function_call', { name: 'f', call_id: 'c', arguments: '' }, { tool: 'f', args: {} }],
    ['custom_tool_call', { name: 'f', call_id: 'c', input: 'x' }, { tool: 'f', args: { input: 'x' } }],
    ['mcp_approval_request', { name: 'f', id: 'i', arguments: '{"a":1}' }, { tool: 'f', call_id: 'i', args: { a: 1 } }],
    ['shell_call', { call_id: 'c', action: { commands: ['ls'] } }, { call_id: 'c', args: { commands: ['ls'] } }],
    ['local_shell_call', { call_id: 'c', action: { command: ['ls'] } }, { args: { command: ['ls'] } }],
    ['computer_call', { call_id: 'c', action: { type: 'click' } }, { args: { type: 'click' } }],
    ['apply_patch_call', { call_id: 'c', operation: { path: 'a' } }, { args: { path: 'a' } }],
    ['code_interpreter_call', { id: 'i', code: 'print(1)' }, { call_id: 'i', args: { code: 'print(1)' } }],
    ['web_search_call', { id: 'i', action: { query: 'q' } }, { call_id: 'i', args: { query: 'q' } }],
    ['file_search_call', { id: 'i', queries: ['q'] }, { call_id: 'i', args: { queries: ['q'] } }],
    ['image_generation_call', { id: 'i', result: 'iVBOR' }, { call_id: 'i' }],
    ['some_future_call', { id: 'i' }, { call_id: 'i' }],
  ])('in openai-responses, as %s', (type, item, event) => {
    const reply = {
      status: 'completed',
      output: [
        { type: 'reasoning', id: 'r' },
        { type, ...item },
      ],
    };
    expect(eventsIn(RESPONSES, reply)).toMatchObject([{ type: 'tool_call', tool: type, ...event }]);
  });

  test('in openai-responses once, with its result', () => {
    const output = [
      { type: 'mcp_list_tools', id: 'l', tools: [] },
      { type: 'shell_call', call_id: 'c', action: { commands: ['ls'] } },
      { type: 'shell_call_output', call_id: 'c', status: 'completed', output: [{ stdout: 'a' }] },
      { type: 'mcp_call', id: 'm', name: 'f', arguments: '{}', output: 'ok', status: 'completed' },
      { type: 'message', content: [{ type: 'output_text', text: 'Done' }] },
    ];
    expect(eventsIn(RESPONSES, { status: 'completed', output })).toMatchObject([
      { type: 'tool_call', tool: 'shell_call', call_id: 'c' },
      { type: 'tool_result', call_id: 'c', status: 'ok' },
      { type: 'tool_call', tool: 'f', call_id: 'm' },
      { type: 'tool_result', call_id: 'm', status: 'ok' },
    ]);
  });

  test.each([
    ['whose arguments are not JSON', { invalid_tool_calls: [{ id: 'c', name: 'f', args: '{"a' }] }],
    ['in the form of OpenAI', { tool_calls: [{ id: 'c', function: { name: 'f', arguments: '{}' } }] }],
    ['in a message chunk', { type: 'AIMessageChunk', tool_calls: [{ id: 'c', name: 'f', args: {} }] }],
  ])('in langgraph %s', (_, fields) => {
    const reply = {
      messages: [
        { type: 'ai', content: '', ...fields },
        { type: 'ai', content: 'Done' },
      ],
    };
    const declaration: TargetDeclaration = { kind: 'langgraph', url, assistant: 'a' };
    expect(eventsIn(declaration, reply)).toMatchObject([{ type: 'tool_call', tool: 'f', call_id: 'c' }]);
  });

  test('in anthropic-messages, whatever the type of its block', () => {
    const block = { type: 'some_future_tool_use', id: 't', name: 'f', input: { a: 1 } };
    const declaration: TargetDeclaration = { kind: 'anthropic-messages', ...model };
    const call = { type: 'tool_call', tool: 'f', call_id: 't', args: { a: 1 } };
    expect(eventsIn(declaration, { role: 'assistant', content: [block] })).toMatchObject([call]);
    const body = sse(
      { type: 'message_start', message: { role: 'assistant' } },
      { type: 'content_block_start', index: 0, content_block: block },
      { type: 'message_stop' },
    );
    expect(eventsIn({ ...declaration, stream: true }, body)).toMatchObject([call]);
  });

  const snapshot = (...toolCalls: readonly object[]) => ({
    type: 'MESSAGES_SNAPSHOT',
    messages: [
      { id: 'u', role: 'user', content: 'Hi' },
      { id: 'a', role: 'assistant', content: 'Done', toolCalls },
      { id: 't', role: 'tool', toolCallId: 'c', content: 'ok' },
    ],
  });
  const call = (args: string) => ({ id: 'c', type: 'function', function: { name: 'f', arguments: args } });
  const AG_UI: TargetDeclaration = { kind: 'ag-ui', url };
  const END = { type: 'RUN_FINISHED', runId: 'r' };
  const CALL = { type: 'tool_call', tool: 'f', call_id: 'c', args: { a: 1 } };
  const RESULT = { type: 'tool_result', call_id: 'c', status: 'ok', payload_summary: 'ok' };

  test('in ag-ui, if only a snapshot has it', () => {
    expect(eventsIn(AG_UI, sse(snapshot(call('{"a":1}')), END))).toMatchObject([CALL, RESULT]);
  });

  test('in ag-ui once, if snapshots repeat it, and again with other arguments', () => {
    const body = sse(
      { type: 'TOOL_CALL_START', toolCallId: 'c', toolCallName: 'f' },
      { type: 'TOOL_CALL_ARGS', toolCallId: 'c', delta: '{"a":' },
      { type: 'TOOL_CALL_ARGS', toolCallId: 'c', delta: '1}' },
      { type: 'TOOL_CALL_RESULT', toolCallId: 'c', content: 'ok' },
      snapshot(call('{"a": 1}')),
      snapshot(call('{"a": 1}')),
    );
    expect(eventsIn(AG_UI, body + sse(END))).toMatchObject([CALL, RESULT]);
    const other = { ...CALL, args: { a: 2 } };
    expect(eventsIn(AG_UI, body + sse(snapshot(call('{"a":2}')), END))).toMatchObject([CALL, RESULT, other]);
  });

  test('in ag-ui with its error', () => {
    const result = { type: 'TOOL_CALL_RESULT', toolCallId: 'c', content: 'x', error: 'No stock' };
    expect(eventsIn(AG_UI, sse(result, END))).toMatchObject([{ type: 'tool_result', status: 'error' }]);
  });
});
