/** All routes share these rules: security headers, limits, and no secrets in answers or logs. */
import { once } from 'node:events';
import { type IncomingMessage, request, type Server as HttpServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import path from 'node:path';
import { createAdaptorServer } from '@hono/node-server';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { MemoryQueue } from '../../../src/queue/memory.ts';
import { Tokens } from '../../../src/serve/access/tokens.ts';
import { appOf } from '../../../src/serve/http/app.ts';
import { securityHeaders } from '../../../src/serve/http/headers.ts';
import { isUpload } from '../../../src/serve/http/input.ts';
import { type Route, route } from '../../../src/serve/http/route.ts';
import type { Server } from '../../../src/serve/http/server.ts';
import { ServerLog } from '../../../src/serve/operation/log.ts';
import { ROUTES } from '../../../src/serve/routes/index.ts';
import { serverFolder } from '../../../src/serve/state/server-folder.ts';
import { publishScript } from '../../../src/verbs/publish/publish.ts';
import { PublishWorld } from '../../publish/world.ts';
import { type Answer, type World, world } from '../access/serve-world.ts';

const UNLIMITED = { requests: 1_000_000, anonymous: 1_000_000, failures: 1_000_000 };

/** Values that each path accepts. Only a script is called `nothing`. */
const targetOf = (at: string): string =>
  at
    .replaceAll('{run_id}', 'script_20200101_000000_000000000000')
    .replaceAll('{id}', 'tok_0000000000000000')
    .replaceAll('{sha256}', '0'.repeat(64))
    .replaceAll('{version}', '1.0.0')
    .replaceAll('{index}', '0')
    .replaceAll('{correlation_id}', '000000000000')
    .replace(/\{\w+\}/g, 'nothing');

interface Everything extends World {
  /** The header with which a client may use the route. */
  authorizationFor(role: Route['role']): readonly [string, string];
}

/** A server with a queue and a published script. */
async function everything(): Promise<Everything> {
  const project = new PublishWorld();
  project.script({ name: 'nothing' });
  await publishScript('tool', { cwd: project.cwd });
  const at = await world({ cwd: project.cwd, team: { queue: new MemoryQueue() }, rates: UNLIMITED });
  const { text } = await tokensOf(at).create({ name: 'worker', role: 'worker' });
  return {
    ...at,
    authorizationFor: role => ['Authorization', `Bearer ${role === 'worker' ? text : at.secret}`],
  };
}

const tokensOf = ({ cwd }: World, now = (): number => systemClock.now()): Tokens =>
  new Tokens(serverFolder(path.join(cwd, '.proctor')), { now });

/** Asks without waiting for the end of an answer, because some never end. */
async function begun(
  { port }: World,
  { method, path: at }: Pick<Route, 'method' | 'path'>,
  headers: Readonly<Record<string, string>>,
  body?: Uint8Array,
): Promise<{ readonly status: number; readonly headers: Answer['headers']; readonly code: string | undefined }> {
  const asked = request({ port, host: '127.0.0.1', method, path: targetOf(at), agent: false, headers });
  // The server may answer and close before it has the whole body.
  asked.on('error', () => undefined);
  onTestFinished(() => void asked.destroy());
  const answered = once(asked, 'response');
  if (body) asked.end(body);
  else if ('content-length' in headers) asked.flushHeaders();
  else asked.end();
  const [response] = (await answered) as [IncomingMessage];
  const { statusCode: status = 0 } = response;
  let text = '';
  if (status >= 400) for await (const piece of response) text += String(piece);
  asked.destroy();
  const { error } = (text.startsWith('{') ? JSON.parse(text) : {}) as { error?: { code: string } };
  return { status, headers: response.headers, code: error?.code };
}

/** The security headers that an answer lacks. */
function lacking(headers: Answer['headers']): string[] {
  return Object.entries(securityHeaders('api')).flatMap(([name, value]) => {
    const sent = headers[name];
    // Pages have a policy of their own, and downloads are private besides.
    const isOwn = name === 'content-security-policy' && String(sent).includes("default-src 'none'");
    return sent === value || isOwn || (name === 'cache-control' && sent === 'private, no-store') ? [] : [name];
  });
}

test('every answer has the security headers, also a refusal', async () => {
  const at = await everything();
  const wrong: string[] = [];
  const refusals = new Set<number>();
  const look = async (what: string, one: Pick<Route, 'method' | 'path'>, headers: Record<string, string>) => {
    const answer = await begun(at, one, headers);
    refusals.add(answer.status);
    for (const name of lacking(answer.headers)) wrong.push(`${one.method} ${one.path} ${what}: ${name}`);
  };
  const page = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
  const elsewhere = [
    { method: 'GET', path: '/' },
    { method: 'GET', path: '/v1/nothing' },
    { method: 'PUT', path: '/v1/nothing' },
  ] as const;
  for (const one of [...ROUTES, ...elsewhere]) {
    const [, authorization] = at.authorizationFor('role' in one ? one.role : 'anyone');
    await look('with a token', one, { authorization });
    await look('without a token', one, {});
    await look('with a wrong token', one, { authorization: 'Bearer pt_x' });
    await look('of another host', one, { host: 'evil.example' });
    await look('with an unknown query', { ...one, path: `${one.path}?never=named` }, { authorization });
    await look('opened in a browser', one, page);
  }
  expect(wrong).toEqual([]);
  expect([...refusals]).toEqual(expect.arrayContaining([200, 400, 401, 403, 404, 422]));
});

test('an expired token opens no route', async () => {
  const at = await everything();
  const long = systemClock.now() - 91 * 86_400_000;
  const wrong: string[] = [];
  for (const role of ['admin', 'worker'] as const) {
    const { text } = await tokensOf(at, () => long).create({ name: `old ${role}`, role });
    expect(
      tokensOf(at)
        .list()
        .find(({ name }) => name === `old ${role}`)?.state,
    ).toBe('expired');
    for (const one of ROUTES) {
      const { status, code } = await begun(at, one, { authorization: `Bearer ${text}` });
      if (status !== 401 || code !== 'bad_token') wrong.push(`${one.name}: ${status} ${code}`);
    }
  }
  expect(wrong).toEqual([]);
});

const WITH_BODY = ROUTES.filter(({ body }) => body !== undefined);
const JSON_BYTES = 1024 ** 2;

test('every route rejects a body whose stated length exceeds its limit', async () => {
  const at = await everything();
  const wrong: string[] = [];
  for (const one of WITH_BODY) {
    const [, authorization] = at.authorizationFor(one.role);
    const max = isUpload(one.body) ? one.body.bytesMax : (one.bodyBytesMax ?? JSON_BYTES);
    const type = isUpload(one.body) ? (one.body.upload.at(-1) ?? '') : 'application/json';
    const headers = { authorization, 'content-type': boundary(type), 'content-length': String(max + 1) };
    const { status, code } = await begun(at, one, headers);
    if (status !== 413 || code !== 'body_too_large') wrong.push(`${one.name}: ${status} ${code}`);
  }
  expect(WITH_BODY.length).toBeGreaterThan(10);
  expect(wrong).toEqual([]);
});

const boundary = (type: string): string => (type === 'multipart/form-data' ? `${type}; boundary=b` : type);

test('every route rejects a JSON body that exceeds its limit without a stated length', async () => {
  const at = await everything();
  const wrong: string[] = [];
  for (const one of WITH_BODY) {
    if (isUpload(one.body)) continue;
    const [, authorization] = at.authorizationFor(one.role);
    const body = Buffer.alloc((one.bodyBytesMax ?? JSON_BYTES) + 1, ' ');
    const headers = { authorization, 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
    const { status, code } = await begun(at, one, headers, body);
    if (status !== 413 || code !== 'body_too_large') wrong.push(`${one.name}: ${status} ${code}`);
  }
  expect(wrong).toEqual([]);
});

test('a stopping server reports on /readyz that it drains', async () => {
  const at = await world({ drainMs: 60_000 });
  const socket = connect(at.port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let answers = '';
  socket.on('data', piece => (answers += String(piece)));
  const head = (target: string) => `GET ${target} HTTP/1.1\r\nHost: 127.0.0.1:${at.port}\r\n`;
  // A half request keeps the connection open while the server stops.
  socket.write(`${head('/readyz')}\r\n${head('/readyz')}`);
  await expect.poll(() => answers).toContain('{"state":"ready"}');
  const stopped = at.stop();
  socket.write('Connection: close\r\n\r\n');
  await expect.poll(() => answers).toContain('"code":"draining"');
  expect(answers).toContain('HTTP/1.1 503');
  expect(answers.toLowerCase()).toContain('retry-after: 60');
  await stopped;
});

const CANARY = 'canary-6b1f';

test('the log contains no secret of a request', async () => {
  const at = await everything();
  for (const one of ROUTES) {
    const [, authorization] = at.authorizationFor(one.role);
    const wheres: readonly [string, readonly (readonly [string, string])[], object?][] = [
      [one.path, [['Authorization', `Bearer ${CANARY}`]]],
      [one.path, [['Cookie', `proctor_session_${at.port}=${CANARY}; ${CANARY}=${CANARY}`]]],
      [`${one.path}?${CANARY}=${CANARY}`, [['Authorization', authorization]]],
      [one.path.replace(/\{\w+\}/, CANARY), [['Authorization', authorization]]],
      [one.path, [['Authorization', authorization]], { [CANARY]: CANARY, secret: CANARY, token: CANARY }],
    ];
    for (const [target, headers, body] of wheres)
      await begun(
        at,
        { method: one.method, path: target },
        { ...Object.fromEntries(headers), ...(body && { 'content-type': 'application/json' }) },
        body && Buffer.from(JSON.stringify(body)),
      );
  }
  await at.stop();
  const log = at.log.join('');
  expect(log).toContain('"event":"stopped"');
  for (const secret of [CANARY, at.secret, at.authorizationFor('worker')[1].slice('Bearer '.length)])
    expect(log).not.toContain(secret);
});

test.each([
  ['an error', new Error(`${CANARY} at /home/ada/.proctor`), 'bug'],
  ['a wrong type', new TypeError(`Cannot read ${CANARY} of /home/ada`), 'bug'],
  ['a text', `${CANARY} at /home/ada`, 'bug'],
  [
    'an error of the disk',
    Object.assign(new Error(`ENOENT: no such file, open '/home/ada/${CANARY}'`), { code: 'ENOENT' }),
    'storage_failed',
  ],
])('the answer to %s that Proctor does not know shows no detail', async (_, thrown, code) => {
  const broken = route({
    name: 'broken',
    method: 'GET',
    path: '/broken',
    role: 'anyone',
    why: 'Fails.',
    gives: { media: 'text/plain' },
    act: () => {
      throw thrown;
    },
  });
  const log: string[] = [];
  const server = {
    access: {
      checkHost: () => {},
      identify: async () => undefined,
      checkRate: async () => {},
      checkOrigin: () => {},
      noteRefusal: () => {},
    },
    isOutage: () => false,
    log: new ServerLog(line => log.push(line)),
    metrics: { refused: () => {} },
  };
  const http = createAdaptorServer({ fetch: appOf(server as unknown as Server, [broken]).fetch }) as HttpServer;
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  onTestFinished(() => void http.close());
  const response = await fetch(`http://127.0.0.1:${(http.address() as AddressInfo).port}/broken`);
  const text = await response.text();
  expect([response.status, (JSON.parse(text) as { error: { code: string } }).error.code]).toEqual([
    code === 'bug' ? 500 : 503,
    code,
  ]);
  expect(text).not.toMatch(/canary|\/home|\.ts|\bat \//);
  expect(lacking(Object.fromEntries(response.headers))).toEqual([]);
  // The operator finds it by the id that the client quotes.
  const noted = JSON.parse(log[0] ?? '{}') as { correlation_id?: string; detail?: string };
  expect(noted.detail).toContain(CANARY);
  if (code === 'bug') expect(text).toContain(noted.correlation_id);
});
