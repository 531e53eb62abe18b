import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { doorCountIn } from '../../../src/evidence/agent/door-count.ts';
import { PARTS } from '../../../src/evidence/recovery/recovery-parts.ts';
import type { Recording } from '../../../src/contracts/recording/index.ts';
import type { Door, DoorOptions } from '../../../src/execute/model/door.ts';
import { openRecording } from '../../../src/execute/model/recording.ts';
import { anthropicEvents, openaiEvents } from '../../../stand-ins/wire.ts';
import { type ApiName, APIS, PLAIN } from '../gateway/support.ts';
import { temporaryFolder } from '../../support/support.ts';
import { door, errorIn, fakeApi, type FakeApi, type Got, HEADER, send, type Sending, upstream } from './door-world.ts';

const sse = (events: readonly object[]): string => events.map(event => `data: ${JSON.stringify(event)}\n\n`).join('');

/** A streamed answer of each API with 100 input and 20 output tokens. */
const ANSWERS: Readonly<Record<ApiName, string>> = {
  anthropic: sse(anthropicEvents([], 'i')),
  openai: sse(openaiEvents([], 'i')),
  'openai-chat': `${sse([{ choices: [], usage: { prompt_tokens: 100, completion_tokens: 20 } }])}data: [DONE]\n\n`,
  gemini: sse([{ usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 20 } }]),
};

const PROVIDER: Readonly<Record<ApiName, object>> = {
  anthropic: { type: 'web_search_20250305', name: 'web_search' },
  openai: { type: 'web_search' },
  'openai-chat': { type: 'web_search' },
  gemini: { googleSearch: {} },
};

interface Opened {
  readonly door: Door;
  readonly api: FakeApi;
  readonly ask: (sending?: Sending) => Promise<Got>;
}

async function opened(api: ApiName, options: Partial<DoorOptions> = {}, status = 200): Promise<Opened> {
  const fake = await fakeApi((_, response) => {
    response.writeHead(status, { 'content-type': 'text/event-stream' }).end(ANSWERS[api]);
  });
  const made = await door({ kind: 'live', upstream: upstream(fake.url) }, { api, ...options });
  const { path: at, body } = PLAIN[api];
  const ask = (sending?: Sending): Promise<Got> => send(made, { path: at, body: JSON.stringify(body), ...sending });
  return { door: made, api: fake, ask };
}

function expectRefused({ status, headers, body }: Got): void {
  expect(status).toBe(400);
  expect(headers['x-should-retry']).toBe('false');
  expect(body).toMatch(/"invalid_request_error"|"INVALID_ARGUMENT"/);
}

describe.each(APIS)('a proxy to %s', name => {
  const { path: at, body, tool } = PLAIN[name];

  test('forwards a plain request byte for byte, and counts the tokens of the answer', async () => {
    const { door: made, api, ask } = await opened(name);
    const spaced = JSON.stringify(body, null, 2);
    expect(await ask({ body: spaced })).toMatchObject({ status: 200, body: ANSWERS[name] });
    expect(api.seen).toMatchObject([{ url: at, body: spaced }]);
    expect(made.stats()).toMatchObject({
      failures: 0,
      spent: { requests: 1, inputTokens: 100, outputTokens: 20, estimated: 0 },
      lastAsk: { status: 200, isWhole: true },
      refused: { total: 0 },
      stripped: { total: 0 },
    });
  });

  test("refuses other endpoints with an error in the API's format, whatever the network policy", async () => {
    for (const network of ['deny', 'allow'] as const) {
      const { door: made, api, ask } = await opened(name, { network });
      expectRefused(await ask({ path: '/v1/files' }));
      expectRefused(await ask({ path: `${at}?x=1` }));
      expectRefused(await ask({ method: 'GET' }));
      expect(api.seen).toEqual([]);
      expect(made.stats()).toMatchObject({ requests: 3, failures: 3, lastAsk: null, spent: { requests: 0 } });
      expect(made.stats().refused).toEqual({
        total: 3,
        listed: ['POST /v1/files', `POST ${at}`, `GET ${at}`].map(where => ({ what: 'endpoint', where, count: 1 })),
      });
    }
  });

  test('refuses an unreadable body and an unknown key', async () => {
    const { door: made, api, ask } = await opened(name);
    const gzip = { body: gzipSync(JSON.stringify(body)), headers: { 'content-encoding': 'gzip' } };
    for (const sending of [gzip, { body: '{' }, { body: JSON.stringify({ ...body, new_feature: 1 }) }])
      expectRefused(await ask(sending));
    expect(api.seen).toEqual([]);
    expect(made.stats().refused.listed.map(({ what }) => what)).toEqual(['encoding', 'body', 'key']);
    expect(made.stats().lastAsk).toMatchObject({ status: null, isWhole: false });
  });

  test('removes a tool that the provider runs, and refuses the request if it has no other tool', async () => {
    const { door: made, api, ask } = await opened(name);
    expect(await ask({ body: JSON.stringify({ ...body, tools: [PROVIDER[name], tool] }) })).toMatchObject({
      status: 200,
    });
    const refused = await ask({ body: JSON.stringify({ ...body, tools: [PROVIDER[name]] }) });
    expectRefused(refused);
    expect(errorIn(refused.body)).toContain('tools[]');
    expect(api.seen.map(seen => JSON.parse(seen.body) as unknown)).toEqual([{ ...body, tools: [tool] }]);
    expect(made.stats().stripped).toEqual({ total: 1, listed: [{ what: 'body', where: 'tools[]', count: 1 }] });
  });

  test('forwards any body if the network is open', async () => {
    const { api, ask } = await opened(name, { network: 'allow' });
    for (const text of [JSON.stringify({ ...body, tools: [PROVIDER[name]], new_feature: 1 }), 'no JSON'])
      expect(await ask({ body: text })).toMatchObject({ status: 200 });
    expect(api.seen).toHaveLength(2);
  });

  test('refuses further requests once the budget is used up', async () => {
    const told: string[] = [];
    const { door: made, api, ask } = await opened(name, { budget: { maxTokens: 200 } });
    made.onOver(sentence => told.push(sentence));
    for (let asked = 0; asked < 5; asked++) await ask();
    const over = await ask();
    expectRefused(over);
    expect(errorIn(over.body)).toBe('The agent reached its limit of 200 tokens.');
    expect(api.seen).toHaveLength(2);
    expect(told).toEqual(['The agent reached its limit of 200 tokens.']);
    expect(made.stats()).toMatchObject({ requests: 6, failures: 4, spent: { requests: 2 }, refused: { total: 4 } });
  });

  test('counts a model error as a failure without cost', async () => {
    const { door: made, ask } = await opened(name, {}, 429);
    await ask();
    expect(made.stats()).toMatchObject({
      failures: 1,
      problem: undefined,
      lastAsk: { status: 429, isWhole: true },
      spent: { requests: 1, inputTokens: 0, outputTokens: 0, estimated: 0 },
    });
  });

  test('counts an answer that the agent abandoned, but does not report it as the last', async () => {
    const fake = await fakeApi((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': wait\n\n');
    });
    const made = await door({ kind: 'live', upstream: upstream(fake.url) }, { api: name });
    const hangUp = new AbortController();
    const sending = { path: at, body: JSON.stringify(body), signal: hangUp.signal, onData: () => hangUp.abort() };
    await send(made, sending).catch(() => undefined);
    await expect.poll(() => made.stats().failures).toBe(1);
    expect(made.stats()).toMatchObject({ lastAsk: null, spent: { requests: 1, outputTokens: 8, estimated: 1 } });
  });

  test('records forwarded but not refused requests, and applies the same checks in a replay', async () => {
    const { api } = await opened(name);
    const file = path.join(temporaryFolder(), 'recording.json');
    const made = await door({ kind: 'record', upstream: upstream(api.url), file, header: HEADER }, { api: name });
    const sent = JSON.stringify({ ...body, tools: [PROVIDER[name], tool] });
    await send(made, { path: at, body: JSON.stringify({ ...body, new_feature: 1 }) });
    await send(made, { path: at, body: sent });
    await send(made, { path: '/v1/files' });
    await made.close();
    const { exchanges } = JSON.parse(readFileSync(file, 'utf8')) as Recording;
    expect(exchanges.map(({ request }) => request.body?.value)).toEqual([{ ...body, tools: [tool] }]);
    const again = await door({ kind: 'replay', recording: openRecording(file, 'claude_cli') }, { api: name });
    expectRefused(await send(again, { path: at, body: JSON.stringify({ ...body, new_feature: 1 }) }));
    expectRefused(await send(again, { path: '/v1/files' }));
    expect(again.difference).toBeUndefined();
    expect(await send(again, { path: at, body: sent })).toMatchObject({ status: 200, body: ANSWERS[name] });
    expect(again.stats()).toMatchObject({ spent: { requests: 1, inputTokens: 100 }, refused: { total: 2 } });
  });
});

test('drops Anthropic features that reach the network, and keeps the order of the others in the header', async () => {
  const { door: made, api, ask } = await opened('anthropic');
  const words = 'claude-code-20250219, mcp-client-2025-11-20,files-api-2025-04-14,effort-2025-11-24,skills-2025-10-02';
  await ask({ headers: { 'anthropic-beta': words } });
  await ask({ headers: { 'anthropic-beta': 'code-execution-2025-08-25' } });
  await ask({ headers: { 'anthropic-beta': 'a,b' } });
  expect(api.seen.map(({ headers }) => headers['anthropic-beta'])).toEqual([
    'claude-code-20250219,effort-2025-11-24',
    undefined,
    'a,b',
  ]);
  expect(made.stats().stripped).toEqual({ total: 4, listed: [{ what: 'header', where: 'anthropic-beta', count: 4 }] });
});

test('counts an answer as complete if the agent hangs up after its last event', async () => {
  const fake = await fakeApi((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(ANSWERS.anthropic);
  });
  const made = await door({ kind: 'live', upstream: upstream(fake.url) });
  const hangUp = new AbortController();
  let said = '';
  const onData = (text: string): void => {
    said += text;
    if (said.includes('message_stop')) hangUp.abort();
  };
  await send(made, { signal: hangUp.signal, onData }).catch(() => undefined);
  await expect.poll(() => made.stats().lastAsk).toMatchObject({ status: 200, isWhole: true });
  expect(made.stats().spent).toMatchObject({ inputTokens: 100, outputTokens: 20, estimated: 0 });
});

test('reports requests that are refused unread, and does not attribute a request without a token to the agent', async () => {
  const { door: made, ask } = await opened('anthropic', { limits: { requestBytesMax: 100 } });
  expect((await ask({ headers: { 'x-api-key': 'guess' } })).status).toBe(401);
  expect(made.stats().lastAsk).toBeNull();
  expect((await ask({ method: 'DELETE', path: '/v1/files' })).status).toBe(405);
  expect((await ask({ path: '/v1/../files' })).status).toBe(400);
  expect((await ask({ body: 'x'.repeat(101) })).status).toBe(413);
  expect(made.stats()).toMatchObject({
    lastAsk: { status: null, isWhole: false, says: 'A request exceeded 100 bytes.' },
    refused: {
      total: 4,
      listed: [
        { what: 'token', where: 'request', count: 1 },
        { what: 'endpoint', where: 'DELETE /v1/files', count: 1 },
        { what: 'endpoint', where: 'request', count: 1 },
        { what: 'size', where: 'request', count: 1 },
      ],
    },
  });
});

test('reports 50,000 removed tools once, by their path', async () => {
  const { door: made, ask } = await opened('anthropic');
  const tools = Array.from({ length: 50_000 }, () => ({ type: 'mcp_toolset' }));
  expect(
    (await ask({ body: JSON.stringify({ ...PLAIN.anthropic.body, tools: [...tools, PLAIN.anthropic.tool] }) })).status,
  ).toBe(200);
  expect(made.stats().stripped).toEqual({ total: 50_000, listed: [{ what: 'body', where: 'tools[]', count: 50_000 }] });
});

test('keeps the last count for recovery, even if its text is shorter than the previous one', async () => {
  const statuses = [200, 529, 200];
  const fake = await fakeApi((_, response) => {
    response.writeHead(statuses.pop() ?? 200, { 'content-type': 'application/json' }).end('{"type":"message"}');
  });
  const made = await door({ kind: 'live', upstream: upstream(fake.url) });
  const folder = temporaryFolder();
  mkdirSync(path.dirname(path.join(folder, PARTS.door)), { recursive: true });
  made.countIn(path.join(folder, PARTS.door));
  expect(doorCountIn(folder)).toMatchObject({ requests: 0, last_status: null });
  for (const { status } of [{ status: 200 }, { status: 529 }, { status: 200 }]) {
    await send(made, { body: JSON.stringify(PLAIN.anthropic.body) });
    await expect.poll(() => doorCountIn(folder)?.last_status).toBe(status);
  }
  await send(made, { path: '/v1/files' });
  await expect.poll(() => doorCountIn(folder)).toMatchObject({ requests: 4, failures: 2, refused: { total: 1 } });
  expect(doorCountIn(folder)).toMatchObject({ counted: { requests: 3, cost_usd: null } });
});

test('reports refusals without secrets, and lists at most 50', async () => {
  const { door: made, ask } = await opened('anthropic', { secrets: ['hunter2-hunter2'] });
  await ask({ path: '/v1/hunter2-hunter2' });
  for (let place = 0; place < 60; place++) await ask({ path: `/v1/place-${place}` });
  const { total, listed } = made.stats().refused;
  expect(total).toBe(61);
  expect(listed).toHaveLength(50);
  expect(listed[0]).toEqual({ what: 'endpoint', where: 'POST /v1/[masked]', count: 1 });
});
