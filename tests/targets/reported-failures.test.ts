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

describe('a state that is no success is a failure', () => {
  test.each<[string, TargetDeclaration, object]>([
    ['a task that works', { kind: 'a2a', url }, a2aTask('TASK_STATE_WORKING', 'Wait')],
    ['a task that was submitted', { kind: 'a2a', url }, a2aTask('TASK_STATE_SUBMITTED', 'Wait')],
    ['a response that failed', RESPONSES, { status: 'failed', error: null, output }],
    ['a response that is not over', RESPONSES, { status: 'in_progress', error: null, output }],
  ])('of %s', (_, declaration, reply) => {
    expect(readAs(declaration, JSON.stringify(reply))).toMatchObject({ ok: false, errorName: 'AGENT_FAILED' });
  });

  test('of a call that the provider made', () => {
    const call = { type: 'mcp_call', id: 'm', name: 't', arguments: '{}', status: 'failed', error: null };
    const reading = readAs(RESPONSES, JSON.stringify({ status: 'completed', output: [call, ...output] }));
    const events = [{ type: 'tool_call' }, { type: 'tool_result', status: 'error' }];
    expect(reading).toMatchObject({ ok: true, reply: { events } });
  });
});

function readAs(declaration: TargetDeclaration, body: string) {
  return declaredReader(declaration, true, 10_000)({ body: Buffer.from(body) }, { caseId: 'c', side: 'new' });
}

describe('a failure without a message is a failure', () => {
  test.each(FAILURES)('of %s', (_, declaration, body) => {
    const reading = declaredReader(
      declaration,
      true,
      10_000,
    )({ body: Buffer.from(body) }, { caseId: 'c', side: 'new' });
    expect(reading).toMatchObject({ ok: false, errorName: 'AGENT_FAILED' });
  });
});

test('a stream of openai-chat shows calls of custom tools', () => {
  const call = (custom: object, id?: string) => ({
    choices: [{ delta: { role: 'assistant', tool_calls: [{ index: 0, id, custom }] } }],
  });
  const body = `${sse(call({ name: 'shell', input: 'rm' }, 'a'), call({ input: ' x' }))}data: [DONE]\n\n`;
  const declaration: TargetDeclaration = { kind: 'openai-chat', ...model, stream: true };
  const reading = declaredReader(declaration, true, 10_000)({ body: Buffer.from(body) }, { caseId: 'c', side: 'new' });
  const events = [{ type: 'tool_call', tool: 'shell', call_id: 'a', args: { input: 'rm x' } }];
  expect(reading).toMatchObject({ ok: true, reply: { events }, repairs: { R2: 1 } });
});

test('a form that finds an empty text does not hide the failure that the next one finds', () => {
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
