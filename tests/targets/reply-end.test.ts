import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { TargetDeclaration } from '../../src/contracts/target/index.ts';
import { replyReader } from '../../src/targets/reader.ts';
import { tryTarget } from '../../src/verbs/try-target.ts';
import { temporaryFolder } from '../support/support.ts';

const url = 'http://127.0.0.1:1';

function read(declaration: TargetDeclaration, body: string) {
  const target = { kind: 'declared', name: 't', replies: 'strict', declaration } as const;
  return replyReader(target, 10_000)({ body: Buffer.from(body) }, { caseId: 'c', side: 'new' });
}

const POLLED: TargetDeclaration = {
  kind: 'http',
  url,
  request: { path: '/go', body: {} },
  poll: {
    id: '$.id',
    path: '/jobs/${poll.id}',
    every: '10ms',
    until: { path: '$.state', in: ['done'] },
    failed: { path: '$.state', in: ['failed'] },
  },
  reply: { final_output: '$.text' },
};

describe('a reply', () => {
  test.each([
    ['a job that is not over is not an answer', { state: 'running', text: 'Part' }, { ok: false }],
    ['a job that failed is a failure', { state: 'failed', text: 'Part' }, { ok: false, errorName: 'AGENT_FAILED' }],
    ['a job that is over is an answer', { state: 'done', text: 'All' }, { ok: true }],
    ['an agent that answers without a job is an answer', { text: 'All' }, { ok: true }],
  ])('of %s', (_, reply, expected) => {
    expect(read(POLLED, JSON.stringify(reply))).toMatchObject(expected);
  });

  test('of a WebSocket is an answer only with its last message', () => {
    const declaration: TargetDeclaration = {
      kind: 'websocket',
      url: 'ws://127.0.0.1:1',
      send: ['x'],
      until: { path: '$.type', in: ['done'] },
      reply: { final_output: { path: '$.frames[*].data.text', join: '' } },
    };
    expect(read(declaration, '{"type":"token","text":"Part"}\n')).toMatchObject({ ok: false });
    expect(read(declaration, '{"type":"token","text":"All"}\n{"type":"done"}\n')).toMatchObject({ ok: true });
  });
});

const sse = (...frames: readonly unknown[]): string =>
  frames.map(frame => `data: ${typeof frame === 'string' ? frame : JSON.stringify(frame)}\n\n`).join('');
const chunk = (content: string, finish_reason: string | null) => ({
  choices: [{ delta: { role: 'assistant', content }, finish_reason }],
});
const model = { url, model: 'm', stream: true };
const ANTHROPIC = [
  { type: 'message_start', message: { role: 'assistant' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Part' } },
];
const AG_UI = [
  { type: 'TEXT_MESSAGE_START', messageId: 'm' },
  { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'Part' },
];

describe('a stream without its last event is not an answer', () => {
  test.each<[string, TargetDeclaration, readonly object[], unknown]>([
    ['openai-chat, with a reason', { kind: 'openai-chat', ...model }, [chunk('Part', null)], chunk('', 'stop')],
    ['openai-chat, with [DONE]', { kind: 'openai-chat', ...model }, [chunk('Part', null)], '[DONE]'],
    ['anthropic-messages', { kind: 'anthropic-messages', ...model }, ANTHROPIC, { type: 'message_stop' }],
    ['ag-ui', { kind: 'ag-ui', url }, AG_UI, { type: 'RUN_FINISHED', runId: 'r' }],
  ])('from %s', (_, declaration, frames, last) => {
    const cut = sse(...frames);
    const says = { ok: false, message: 'The stream ended before its last event.' };
    expect(read(declaration, cut)).toMatchObject(says);
    expect(read(declaration, `${cut}data: {"type":`)).toMatchObject(says);
    expect(read(declaration, `${cut}${sse(last)}`)).toMatchObject({ ok: true });
  });
});

describe('a custom stream', () => {
  const declared = (until?: object): TargetDeclaration =>
    ({
      kind: 'http',
      url,
      request: {},
      stream: { as: 'sse', ...(until && { until }) },
      reply: { final_output: { path: '$.frames[*].data.text', join: '' } },
    }) as TargetDeclaration;
  const part = sse({ text: 'Part' });

  test.each<[string, object, string]>([
    ['an event', { path: '$.event', in: ['done'] }, 'event: done\ndata: {}\n\n'],
    ['a text', { path: '$.data', in: ['[DONE]'] }, sse('[DONE]')],
    ['a value', { path: '$.data.done', in: [true] }, sse({ done: true })],
  ])('is an answer only with the frame that stream.until describes: %s', (_, until, last) => {
    const says = { ok: false, message: 'The stream ended before the frame that stream.until describes.' };
    expect(read(declared(until), part)).toMatchObject(says);
    expect(read(declared(until), `${part}${last.trimEnd()}`)).toMatchObject(says);
    expect(read(declared(until), `${part}${last}`)).toMatchObject({ ok: true });
  });

  test('without stream.until is not an answer if it ends within a frame', () => {
    expect(read(declared(), `${part}data: {"text":"lost"}`)).toMatchObject({
      ok: false,
      message: 'The stream ended within a frame. An empty line must end every event.',
    });
    expect(read(declared(), `${part}: a comment`)).toMatchObject({ ok: true });
  });

  test('in NDJSON may end without a line feed', () => {
    const declaration = { ...declared(), stream: { as: 'ndjson', until: { path: '$.data.done', in: [true] } } };
    expect(read(declaration as TargetDeclaration, '{"text":"Part"}\n')).toMatchObject({ ok: false });
    expect(read(declaration as TargetDeclaration, '{"text":"All"}\n{"done":true}')).toMatchObject({ ok: true });
  });
});

describe('a poll', () => {
  let server: Server | undefined;
  afterEach(() => server?.close());

  async function asked(first: object, then: object, declaration: object = {}) {
    server = createServer((request, response) => {
      response.end(JSON.stringify(request.url === '/go' ? first : then));
    });
    await new Promise<void>(resolve => server?.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const target = path.join(temporaryFolder(), 'target.json');
    writeFileSync(target, JSON.stringify({ ...POLLED, url: `http://127.0.0.1:${port}`, ...declaration }));
    const { artifact } = await tryTarget({ target, text: 'x' });
    return artifact;
  }

  test('gets no answer if the reply has no state at poll.until.path', async () => {
    const { status, runner_failure } = await asked({ id: 1 }, { status: 'running', text: 'Part' });
    expect(status).toBe('runner_error');
    expect(runner_failure?.error_message).toBe('The reply to a poll has no state at poll.until.path.');
  });

  test('ends at a state that only poll.failed names', async () => {
    const { runner_failure } = await asked({ id: 1, state: 'queued' }, { state: 'failed' });
    expect(runner_failure).toMatchObject({ class: 'schema_mismatch', error_name: 'AGENT_FAILED' });
  });

  test('waits no longer than the timeout', async () => {
    const startedMs = performance.now();
    const poll = { ...POLLED.poll, every: '60s' };
    const { runner_failure } = await asked({ id: 1, state: 'queued' }, { state: 'done' }, { timeout: '1s', poll });
    expect(runner_failure).toMatchObject({ class: 'timeout' });
    expect(performance.now() - startedMs).toBeLessThan(20_000);
  });
});
