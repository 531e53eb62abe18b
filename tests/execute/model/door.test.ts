import { closeSync, openSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createConnection } from 'node:net';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { openDoor } from '../../../src/execute/model/door.ts';
import { temporaryFolder } from '../../support/support.ts';
import { door, errorIn, events, fakeApi, KEY, send, upstream } from './door-world.ts';

describe('a proxy to a live model', () => {
  test('replaces the token of a request with the real key, and returns the answer', async () => {
    const api = await fakeApi((_, response) => events(response, 'one', 'two'));
    const opened = await door({ kind: 'live', upstream: upstream(`${api.url}/base/`) });
    const got = await send(opened, {
      body: '{"model":"m"}',
      headers: { 'anthropic-version': '2023-06-01', cookie: 'c=1', 'x-forwarded-for': '10.0.0.1', authorization: 'x' },
    });
    expect(got).toMatchObject({ status: 200, body: 'data: one\n\ndata: two\n\n', isCut: false });
    expect(got.headers).toMatchObject({ 'content-type': 'text/event-stream', 'request-id': 'r1' });
    expect(got.headers).not.toHaveProperty('set-cookie');
    const [seen] = api.seen;
    expect(seen).toMatchObject({ method: 'POST', url: '/base/v1/messages?beta=true', body: '{"model":"m"}' });
    expect(seen?.headers).toMatchObject({ 'x-api-key': KEY, 'anthropic-version': '2023-06-01' });
    for (const name of ['cookie', 'x-forwarded-for', 'authorization']) expect(seen?.headers).not.toHaveProperty(name);
    expect(JSON.stringify(seen?.headers)).not.toContain(opened.token);
    expect(opened.stats()).toEqual({
      requests: 1,
      failures: 0,
      bytesAsked: 13,
      bytesAnswered: 22,
      problem: undefined,
      refused: { total: 0, listed: [] },
      stripped: { total: 0, listed: [] },
      // The answer reports no tokens, so they are estimated: a third of the request's bytes, and all bytes of the
      // answer.
      spent: {
        requests: 1,
        inputTokens: 5,
        cachedInputTokens: 0,
        outputTokens: 22,
        costUsd: null,
        estimated: 1,
      },
      lastAsk: { status: 200, isWhole: true, says: null },
    });
  });

  test('reports every piece of an answer, and no error', async () => {
    let isOver = false;
    const api = await fakeApi((_, response) => {
      if (isOver) response.writeHead(529).end('{}');
      else events(response, 'one');
    });
    const opened = await door({ kind: 'live', upstream: upstream(api.url) });
    const told: object[] = [];
    opened.onSpeech(speech => void told.push(speech));
    await send(opened);
    await send(opened);
    isOver = true;
    await send(opened);
    expect(told).toEqual([
      { isFirst: true, answersBefore: 0 },
      { isFirst: true, answersBefore: 1 },
    ]);
  });

  test('does not reveal the key, although the model API echoes it', async () => {
    const api = await fakeApi(({ headers }, response) => {
      const told = String(headers['x-api-key']);
      response.writeHead(401, { 'content-type': 'text/plain', 'request-id': `of ${told}` });
      response.write(`No such key: ${told.slice(0, 9)}`, () => setTimeout(() => response.end(`${told.slice(9)}.`), 20));
    });
    const opened = await door({ kind: 'live', upstream: upstream(api.url) });
    const got = await send(opened, { headers: { 'x-http-method-override': 'DELETE' } });
    expect(got).toMatchObject({ status: 401, body: 'No such key: [masked].' });
    expect(got.headers['request-id']).toBe('of [masked]');
    expect(api.seen[0]?.headers).not.toHaveProperty('x-http-method-override');
  });

  test('sends the account ID of a login, which the agent can neither choose nor see', async () => {
    const account = 'an-account-of-somebody-17';
    const api = await fakeApi(({ headers }, response) => void response.writeHead(403).end(JSON.stringify(headers)));
    const login = {
      ...upstream(api.url),
      keyHeader: 'authorization',
      headers: { 'chatgpt-account-id': account },
    } as const;
    const opened = await door({ kind: 'live', upstream: login });
    const got = await send(opened, { headers: { 'chatgpt-account-id': 'another' } });
    expect(api.seen[0]?.headers).toMatchObject({ 'chatgpt-account-id': account, authorization: `Bearer ${KEY}` });
    expect(got.status).toBe(403);
    expect(got.body).not.toMatch(/somebody-17|never-seen-inside/);
  });

  test('also accepts the token as a bearer token, and sends the key in that form', async () => {
    const api = await fakeApi((_, response) => events(response, 'one'));
    const opened = await door(
      { kind: 'live', upstream: { ...upstream(api.url), keyHeader: 'authorization' } },
      { at: { kind: 'tcp' }, api: 'openai' },
    );
    expect(opened.socket).toBeUndefined();
    const got = await send(opened, {
      path: '/responses',
      headers: { 'x-api-key': '', authorization: `Bearer ${opened.token}` },
    });
    expect(got.status).toBe(200);
    expect(api.seen[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
  });

  test('forwards every event as it arrives, before the answer ends', async () => {
    let finish = (): void => undefined;
    const api = await fakeApi((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: first\n\n');
      finish = () => response.end('data: last\n\n');
    });
    const opened = await door({ kind: 'live', upstream: upstream(api.url) });
    const pieces: string[] = [];
    const got = await send(opened, {
      onData: piece => {
        pieces.push(piece);
        finish();
      },
    });
    // The API ends its answer only after the first event has arrived.
    expect(pieces).toEqual(['data: first\n\n', 'data: last\n\n']);
    expect(got.isCut).toBe(false);
  });

  test('closes the connection to the model when the agent hangs up', async () => {
    let isGone = (): void => undefined;
    const gone = new Promise<void>(resolve => (isGone = resolve));
    const api = await fakeApi((_, response) => {
      response.on('close', isGone);
      response.writeHead(200).write('data: first\n\n');
    });
    const opened = await door({ kind: 'live', upstream: upstream(api.url) });
    const hangUp = new AbortController();
    await send(opened, { signal: hangUp.signal, onData: () => hangUp.abort() }).catch(() => undefined);
    await gone;
    await opened.close();
    expect(opened.stats()).toMatchObject({ requests: 1, failures: 1, problem: undefined });
  });
});

describe('the proxy refuses', () => {
  const rows: [string, number, Parameters<typeof send>[1]][] = [
    ['a wrong token', 401, { headers: { 'x-api-key': 'guess' } }],
    ['no token', 401, { headers: { 'x-api-key': '' } }],
    ['another method', 405, { method: 'DELETE' }],
    ['a path with ..', 400, { path: '/v1/../admin' }],
    ['a path with an encoded ..', 400, { path: '/v1/%2E%2e/admin' }],
    ['an encoded slash', 400, { path: '/v1/..%2fadmin' }],
    ['another host', 400, { path: 'http://example.com/v1/messages' }],
    ['a path that starts with a host', 400, { path: '//example.com/v1' }],
    ['a body that is too large', 413, { body: 'x'.repeat(1_001) }],
    [
      'a body of unknown length that is too large',
      413,
      { body: 'x'.repeat(1_001), headers: { 'transfer-encoding': 'chunked' } },
    ],
  ];
  test.each(rows)('%s', async (_, status, sending) => {
    const api = await fakeApi((_, response) => events(response, 'one'));
    const opened = await door({ kind: 'live', upstream: upstream(api.url) }, { limits: { requestBytesMax: 1_000 } });
    const got = await send(opened, sending);
    expect(got.status).toBe(status);
    expect(JSON.parse(got.body)).toMatchObject({ type: 'error', error: { type: expect.any(String) as string } });
    expect(api.seen).toEqual([]);
    expect(opened.stats()).toMatchObject({ requests: 1, failures: 1, problem: errorIn(got.body) });
  });

  test('an invalid address, and one with a user, query or fragment', async () => {
    for (const url of ['api.example.com', 'ftp://x', 'http://user:word@x', 'http://x/?a=b', 'http://x/#a']) {
      const options = { at: { kind: 'tcp' }, api: 'openai', network: 'deny', secrets: [] } as const;
      await expect(openDoor({ ...options, mode: { kind: 'live', upstream: upstream(url) } })).rejects.toMatchObject({
        code: 'usage',
      });
    }
  });
});

test('opens in a folder whose path is too long for a socket address, and leaves nothing behind', async () => {
  const api = await fakeApi((_, response) => events(response, 'one'));
  const stage = path.join(temporaryFolder(), 'x'.repeat(100));
  const mode = { kind: 'live', upstream: upstream(api.url) } as const;
  const opened = await openDoor({
    at: { kind: 'socket', stage },
    api: 'anthropic',
    network: 'deny',
    secrets: [],
    mode,
  });
  const folder = openSync(path.join(stage, 'door'), 'r');
  const got = await send({ ...opened, socket: `/proc/self/fd/${folder}/model.sock` });
  expect(got).toMatchObject({ status: 200, body: 'data: one\n\n' });
  expect(statSync(opened.socket as string).isSocket()).toBe(true);
  await opened.close();
  closeSync(folder);
  expect(readdirSync(path.join(stage, 'door'))).toEqual([]);
});

describe('a model that fails', () => {
  const answers = [
    [
      'a redirect',
      (r: Parameters<typeof events>[0]) => void r.writeHead(307, { location: 'http://x/' }).end(),
      'status 307',
    ],
    [
      'a compressed answer',
      (r: Parameters<typeof events>[0]) => void r.writeHead(200, { 'content-encoding': 'gzip' }).end('x'),
      'encoding',
    ],
    ['no answer', (r: Parameters<typeof events>[0]) => void r.destroy(), 'failed (UND_ERR_SOCKET)'],
    ['silence', () => undefined, 'did not start', { headersMs: 300 }],
  ] as const;
  test.each(answers)('with %s is reported as an API error', async (_, answer, says, limits?: object) => {
    const api = await fakeApi((_, response) => answer(response));
    const opened = await door({ kind: 'live', upstream: upstream(api.url) }, limits && { limits });
    const got = await send(opened);
    expect(got.status).toBe(502);
    expect(errorIn(got.body)).toContain(says);
    expect(got.body).not.toMatch(/127\.0\.0\.1|k-real|node_modules/);
    expect(opened.stats().problem).toBe(errorIn(got.body));
  });

  test('that refuses connections is reported in the format of the OpenAI API', async () => {
    const api = await fakeApi(() => undefined);
    api.close();
    const opened = await door({ kind: 'live', upstream: upstream(api.url) }, { api: 'openai' });
    expect(JSON.parse((await send(opened, { path: '/v1/responses' })).body)).toEqual({
      error: { message: 'The model API refuses connections.', type: 'api_error', param: null, code: null },
    });
  });

  test('has its error forwarded unchanged', async () => {
    const api = await fakeApi((_, response) => {
      response.writeHead(529, { 'content-type': 'application/json', 'retry-after': '1' }).end('{"type":"error"}');
    });
    const opened = await door({ kind: 'live', upstream: upstream(api.url) });
    const got = await send(opened);
    expect(got).toMatchObject({ status: 529, body: '{"type":"error"}', headers: { 'retry-after': '1' } });
    expect(opened.stats()).toMatchObject({
      failures: 1,
      problem: undefined,
      lastAsk: { status: 529, isWhole: true },
      spent: { requests: 1, inputTokens: 0, outputTokens: 0 },
    });
  });

  test.each([
    ['hangs up', (r: Parameters<typeof events>[0]) => setTimeout(() => r.destroy(), 20), 'failed'],
    ['stops sending', () => undefined, 'stopped in the middle', { idleMs: 300 }],
    [
      'sends too much',
      (r: Parameters<typeof events>[0]) => setTimeout(() => r.write('x'.repeat(2_000)), 20),
      'exceeded 1000 bytes',
      { answerBytesMax: 1_000 },
    ],
  ] as const)('that %s in the middle of an answer interrupts it', async (_, next, says, limits?: object) => {
    const api = await fakeApi((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: first\n\n', () => next(response));
    });
    const opened = await door({ kind: 'live', upstream: upstream(api.url) }, limits && { limits });
    const got = await send(opened);
    expect(got).toMatchObject({ status: 200, body: 'data: first\n\n', isCut: true });
    expect(opened.stats()).toMatchObject({ failures: 1, problem: expect.stringContaining(says) as string });
  });
});

describe('the proxy under attack', () => {
  const raw = (socket: string, text: string, onData: (text: string) => void = () => undefined): Promise<string> =>
    new Promise(resolve => {
      let said = '';
      const connection = createConnection(socket, () => connection.write(text));
      connection.on('error', () => undefined);
      connection.on('data', chunk => {
        said += chunk.toString('latin1');
        onData(said);
      });
      connection.on('close', () => resolve(said));
    });

  test('refuses tunnels, upgrades, other protocols and endless headers, and keeps working', async () => {
    const api = await fakeApi((_, response) => events(response, 'one'));
    const opened = await door({ kind: 'live', upstream: upstream(api.url) });
    const socket = opened.socket ?? '';
    const auth = `x-api-key: ${opened.token}\r\n`;
    expect(await raw(socket, `CONNECT x:443 HTTP/1.1\r\nhost: x\r\n${auth}\r\n`)).toMatch(/^HTTP\/1\.1 501 /);
    const upgrade = `GET /v1 HTTP/1.1\r\nhost: x\r\n${auth}connection: upgrade\r\nupgrade: websocket\r\n\r\n`;
    expect(await raw(socket, upgrade)).toMatch(/^HTTP\/1\.1 501 /);
    expect(await raw(socket, '\x16\x03\x01\x02\x00\x01\x00\n\n')).toMatch(/^HTTP\/1\.1 400 /);
    expect(await raw(socket, `GET / HTTP/1.1\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 431 /);
    const smuggled = `POST /v1 HTTP/1.1\r\nhost: x\r\n${auth}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`;
    expect(await raw(socket, smuggled)).toMatch(/^HTTP\/1\.1 400 /);
    expect(await send(opened)).toMatchObject({ status: 200 });
    expect(api.seen).toHaveLength(1);
  });

  test('ends requests that never complete', async () => {
    const api = await fakeApi((_, response) => events(response, 'one'));
    const limits = { requestHeadMs: 200, requestMs: 400 };
    const opened = await door({ kind: 'live', upstream: upstream(api.url) }, { limits });
    const socket = opened.socket ?? '';
    const head = `POST /v1 HTTP/1.1\r\nhost: x\r\nx-api-key: ${opened.token}\r\n`;
    const said = await Promise.all([raw(socket, head), raw(socket, `${head}content-length: 9\r\n\r\nhalf`)]);
    expect(said).toEqual([expect.stringMatching(/408/), expect.stringMatching(/^(?:$|HTTP\/1\.1 408)/)]);
    expect(api.seen).toEqual([]);
    // On a slow machine, a complete request may be too slow as well.
    await expect.poll(async () => (await send(opened).catch(() => ({ status: 0 }))).status).toBe(200);
  });

  test('answers pipelined requests in order, and limits concurrent ones', async () => {
    const held: (() => void)[] = [];
    const api = await fakeApi((_, response) => held.push(() => events(response, 'one')));
    const opened = await door({ kind: 'live', upstream: upstream(api.url) }, { limits: { requestsAtOnce: 3 } });
    const one = `POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: ${opened.token}\r\ncontent-length: 2\r\n\r\n{}`;
    const said = raw(opened.socket ?? '', one.repeat(5));
    await expect.poll(() => held.length).toBe(3);
    for (const go of held) go();
    // The first refused request closes the connection.
    expect((await said).match(/HTTP\/1\.1 \d+/g)).toEqual([200, 200, 200, 503].map(status => `HTTP/1.1 ${status}`));
  });

  test('survives more connections than its limit', async () => {
    const api = await fakeApi((_, response) => events(response, 'one'));
    const opened = await door({ kind: 'live', upstream: upstream(api.url) }, { limits: { connectionsMax: 20 } });
    const many = Array.from({ length: 500 }, () => {
      const connection = createConnection(opened.socket ?? '');
      connection.on('error', () => undefined);
      return new Promise<() => void>(resolve => {
        connection.on('connect', () => resolve(() => connection.destroy()));
        connection.on('close', () => resolve(() => undefined));
      });
    });
    for (const hangUp of await Promise.all(many)) hangUp();
    await expect.poll(async () => (await send(opened).catch(() => ({ status: 0 }))).status).toBe(200);
  });

  test('closes while requests are open', async () => {
    const api = await fakeApi(() => undefined);
    const opened = await door({ kind: 'live', upstream: upstream(api.url) });
    const waiting = send(opened).catch((error: Error) => error.message);
    await expect.poll(() => api.seen.length).toBe(1);
    const tunnel = createConnection({ path: opened.socket ?? '', allowHalfOpen: true });
    tunnel.on('error', () => undefined);
    tunnel.write('CONNECT x:443 HTTP/1.1\r\nhost: x\r\n\r\n');
    await new Promise(resolve => tunnel.once('data', resolve));
    const silent = createConnection(opened.socket ?? '');
    await new Promise(resolve => silent.once('connect', resolve));
    await opened.close();
    tunnel.destroy();
    expect(await waiting).toMatch(/hang up|ECONNRESET/);
  });
});

test("every user who can reach the proxy's folder can connect", async () => {
  const stage = temporaryFolder();
  const mode = { kind: 'live', upstream: upstream('http://127.0.0.1:1') } as const;
  const opened = await door(mode, { at: { kind: 'socket', stage } });
  expect(opened.socket).toBe(path.join(stage, 'door', 'model.sock'));
  expect(statSync(path.join(stage, 'door')).mode & 0o777).toBe(0o755);
  expect(statSync(opened.socket ?? '').mode & 0o666).toBe(0o666);
  await opened.close();
  expect(() => readFileSync(opened.socket ?? '')).toThrow('ENOENT');
});
