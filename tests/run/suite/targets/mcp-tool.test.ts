import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { tryTarget } from '../../../../src/verbs/try-target.ts';
import { temporaryFolder } from '../../../support/support.ts';
import { everythingIn, expectValid } from '../support.ts';
import { ranDeclared, repliesIn, rulesAfterChange } from './declared-world.ts';
import {
  type Answer,
  declarationOf,
  event,
  methodsOf,
  modernServer,
  reply,
  resultOf,
  served,
  sessionServer,
  statelessServer,
  streamed,
} from './mcp-servers.ts';

const IDS = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve'];

const countOf = (all: readonly unknown[], one: unknown): number => all.filter(each => each === one).length;

describe('an MCP tool over HTTP', () => {
  test.each([
    ['streams', false],
    ['JSON', true],
  ])('is called in one session if the server requires one, with answers as %s', async (_how, asJson) => {
    const { url, seen, sessions } = await sessionServer(asJson);
    const { folder, artifact, run } = await ranDeclared(IDS, declarationOf(url), { concurrency: 8 });
    expect(run.stats).toMatchObject({ cases_completed: IDS.length, cases_failed: 0 });
    for (const id of IDS)
      expect(artifact(id).final_output?.content).toBe(`You asked: What about ${id}?\nAnything else?`);
    expect(methodsOf(seen).slice(0, 3)).toEqual(['server/discover', 'initialize', 'notifications/initialized']);
    expect(countOf(methodsOf(seen), 'initialize')).toBe(1);
    expect(countOf(methodsOf(seen), 'tools/call')).toBe(IDS.length);
    const call = seen.find(({ message }) => message['method'] === 'tools/call');
    expect(call?.headers).toMatchObject({ 'mcp-session-id': 'session-1', 'mcp-protocol-version': '2025-11-25' });
    expect(methodsOf(seen).at(-1)).toBe('DELETE');
    expect(sessions.size).toBe(0);
    expect(JSON.parse(repliesIn(folder)['one']?.body ?? '')).toMatchObject({ jsonrpc: '2.0', result: {} });
    await expectValid(folder);
    expect(await rulesAfterChange(folder, 'You asked', 'I asked')).toContain('FD14');
  });

  test.each([
    ['streams', false],
    ['JSON', true],
  ])('is called without a session if the server opens none, with answers as %s', async (_how, asJson) => {
    const { url, seen } = await statelessServer(asJson);
    const { folder, run } = await ranDeclared(IDS, declarationOf(url), { concurrency: 8 });
    expect(run.stats).toMatchObject({ cases_completed: IDS.length, cases_failed: 0 });
    expect(seen.every(({ headers }) => headers['mcp-session-id'] === undefined)).toBe(true);
    await expectValid(folder);
  });

  test('is called with the sessionless revision if the server supports it', async () => {
    const { url, seen } = await modernServer();
    const { folder, artifact, run } = await ranDeclared(IDS, declarationOf(url), { concurrency: 8 });
    expect(run.stats).toMatchObject({ cases_completed: IDS.length, cases_failed: 0 });
    expect(artifact('one').final_output?.content).toBe('You asked: What about one?');
    expect(countOf(methodsOf(seen), 'server/discover')).toBe(1);
    expect(seen).toHaveLength(IDS.length + 1);
    await expectValid(folder);
  });

  test('returns structured content as JSON, and its errors count as failures of the agent', async () => {
    const { url } = await sessionServer();
    const { folder, artifact } = await ranDeclared(['structured', 'wrong', 'mute'], declarationOf(url));
    expect(artifact('structured').final_output).toMatchObject({
      content_type: 'json',
      content: { answer: 'You asked: What about structured?' },
    });
    expect(artifact('wrong').runner_failure).toMatchObject({
      class: 'schema_mismatch',
      error_name: 'AGENT_FAILED',
      error_message: 'The agent reported a failure: No stock',
    });
    expect(artifact('mute').runner_failure).toMatchObject({ error_name: 'AGENT_FAILED' });
    await expectValid(folder);
  });

  test('fails on its own errors even if the target maps its replies', async () => {
    const { url } = await statelessServer();
    const mapped = { reply: { final_output: '$.result.content[0].text' } };
    const { artifact } = await ranDeclared(['fine', 'wrong'], declarationOf(url, mapped));
    expect(artifact('fine').final_output?.content).toBe('You asked: What about fine?');
    expect(artifact('wrong').runner_failure).toMatchObject({ error_name: 'AGENT_FAILED' });
  });

  test('may notify and ping before it answers', async () => {
    const { url, seen } = await sessionServer();
    const { artifact } = await ranDeclared(['pings'], declarationOf(url));
    expect(artifact('pings').status).toBe('ok');
    expect(seen.filter(({ message }) => 'result' in message)).toHaveLength(1);
  });

  test('is called again in a new session if the server has forgotten the old one', async () => {
    const { url, seen, sessions } = await sessionServer(true);
    const first = await ranDeclared(['one', 'two'], declarationOf(url), {
      concurrency: 1,
      onProgress: () => sessions.clear(),
    });
    expect(first.run.stats).toMatchObject({ cases_completed: 2 });
    expect(countOf(methodsOf(seen), 'initialize')).toBeGreaterThan(1);
  });

  test('gets the declared credentials with every request, and they are masked in the evidence', async () => {
    const token = 'tok_4f9a8b7c6d5e';
    const { url, seen } = await modernServer(({ id, question }, response) =>
      reply(response, { jsonrpc: '2.0', id, result: resultOf(`${token}: ${question}`) }),
    );
    const declaration = declarationOf(url, { auth: { bearer: '${env:DESK_TOKEN}' } });
    const { folder, artifact } = await ranDeclared(['one'], declaration, { environment: { DESK_TOKEN: token } });
    expect(seen.every(({ headers }) => headers['authorization'] === `Bearer ${token}`)).toBe(true);
    expect(artifact('one').final_output?.content).toBe('[masked]: What about one?');
    expect(everythingIn(folder)).not.toContain(token);
    await expectValid(folder);
  });

  test('gets arguments as headers if its schema says so', async () => {
    const { url, seen } = await modernServer();
    const declaration = declarationOf(url, { arguments: { question: '${input.user}', region: 'eu' } });
    const { artifact } = await ranDeclared(['one', 'two'], declaration, { concurrency: 1 });
    expect([artifact('one').status, artifact('two').status]).toEqual(['ok', 'ok']);
    expect(countOf(methodsOf(seen), 'tools/list')).toBe(2);
    expect(countOf(methodsOf(seen), 'tools/call')).toBe(3);
  });

  test('can be tried: the result lists every exchange', async () => {
    const { url } = await sessionServer();
    const cwd = temporaryFolder();
    writeFileSync(path.join(cwd, 'tool.json'), JSON.stringify(declarationOf(url)));
    const tried = await tryTarget({ target: 'tool.json', text: 'Where is my order?', cwd });
    expect(tried.artifact.final_output?.content).toBe('You asked: Where is my order?\nAnything else?');
    expect(tried.exchanges.map(({ status }) => status)).toEqual([400, 200, 202, 200]);
  });
});

const sending =
  (text: string | Buffer, type = 'application/json', status = 200): Answer =>
  (_call, response) =>
    void response.writeHead(status, { 'content-type': type }).end(text);

const FAULTS: readonly (readonly [id: string, answer: Answer, failure: object])[] = [
  ['refuses', sending('no', 'text/plain', 500), { class: 'http_error', status: 500 }],
  ['is-busy', sending('later', 'text/plain', 429), { class: 'http_error', status: 429 }],
  ['redirects', (_c, response) => void response.writeHead(307, { location: '/other' }).end(), { class: 'http_error' }],
  ['sends-nothing', sending(''), { class: 'invalid_json' }],
  ['sends-html', sending('<!doctype html>', 'text/html'), { class: 'invalid_json' }],
  ['sends-a-list', sending('[]'), { class: 'schema_mismatch' }],
  ['repeats-a-key', sending('{"id":1,"id":2}'), { class: 'invalid_json' }],
  ['sends-much', sending(' '.repeat(2_100_000)), { class: 'schema_mismatch', error_name: 'TOO_LARGE' }],
  [
    'has-a-wrong-id',
    ({ id }, response) => reply(response, { jsonrpc: '2.0', id: id + 1_000, result: resultOf('x') }),
    { class: 'schema_mismatch', error_name: 'WRONG_ID' },
  ],
  [
    'has-no-output',
    ({ id }, response) => reply(response, { jsonrpc: '2.0', id, result: { content: [] } }),
    { class: 'schema_mismatch' },
  ],
  [
    'reports-an-error',
    ({ id }, response) => reply(response, { jsonrpc: '2.0', id, error: { code: -32_602, message: 'Unknown tool' } }),
    { class: 'schema_mismatch', error_name: 'AGENT_FAILED' },
  ],
  [
    'asks-back',
    ({ id }, response) => reply(response, { jsonrpc: '2.0', id, result: { resultType: 'input_required' } }),
    { class: 'schema_mismatch', error_name: 'AGENT_FAILED' },
  ],
  [
    'cuts-its-body',
    (_c, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' }).write('{"jsonrpc"');
      setTimeout(() => response.destroy(), 20);
    },
    { class: 'network_error' },
  ],
  ['ends-its-stream', (_c, response) => void streamed(response).end(': bye\n\n'), { error_name: 'NO_RESPONSE' }],
  [
    'streams-broken-json',
    ({ id }, response) => void streamed(response).end(`data: {"jsonrpc":"2.0","id":${id},"result":{]\n\n`),
    { class: 'invalid_json' },
  ],
  [
    'never-stops-notifying',
    (_c, response) => {
      streamed(response);
      const note = event({ jsonrpc: '2.0', method: 'notifications/progress' });
      const more = (): void => {
        while (!response.destroyed && response.write(note));
        response.once('drain', more);
      };
      more();
    },
    { class: 'schema_mismatch', error_name: 'TOO_MANY_MESSAGES' },
  ],
];

describe('an MCP server that', () => {
  test('fails in every known way gets an artifact for each case, with the same failure class as over HTTP', async () => {
    const answers = new Map(FAULTS.map(([id, answer]) => [`What about ${id}?`, answer]));
    const { url } = await modernServer((call, response) => {
      const answer = answers.get(call.question);
      if (answer) return answer(call, response);
      // The stream stays open after the response.
      streamed(response).write(event({ jsonrpc: '2.0', id: call.id, result: resultOf('Fine') }));
    });
    const ids = FAULTS.map(([id]) => id);
    const { folder, artifact } = await ranDeclared([...ids, 'fine'], declarationOf(url), {
      concurrency: 8,
      breakerFailures: 0,
    });
    for (const [id, , failure] of FAULTS) expect(artifact(id).runner_failure, id).toMatchObject(failure);
    expect(artifact('fine').final_output?.content).toBe('Fine');
    await expectValid(folder);
  });

  test('falls silent is stopped by the idle limit, and one that never ends by the deadline', async () => {
    const { url } = await modernServer(({ question }, response) => {
      streamed(response).write(': hello\n\n');
      if (!question.includes('drips')) return;
      const timer = setInterval(() => response.write(': still here\n\n'), 50);
      response.on('close', () => clearInterval(timer));
    });
    const idle = await ranDeclared(['silent'], declarationOf(url), { idleMs: 300 });
    expect(idle.artifact('silent').runner_failure).toMatchObject({ class: 'timeout', error_name: 'IDLE' });
    await expectValid(idle.folder);
    const late = await ranDeclared(['drips'], declarationOf(url), { timeoutMs: 1_000 });
    expect(late.artifact('drips').runner_failure).toMatchObject({ class: 'timeout', timeout_ms: 1_000 });
  });

  test.each([
    ['is unreachable', undefined, { class: 'network_error', error_name: 'ECONNREFUSED' }],
    ['requires a login', 401, { class: 'http_error', status: 401 }],
    ['is not an MCP server', 404, { class: 'http_error', status: 404 }],
    ['fails at once', 500, { class: 'http_error', status: 500 }],
  ])('%s fails the cases with the error of the first request', async (_what, status, failure) => {
    const { url } = await served((_request, response) => void response.writeHead(status ?? 200).end());
    const where = status === undefined ? url.replace('127.0.0.1', '127.0.0.2') : url;
    const { folder, artifact } = await ranDeclared(['one'], declarationOf(where));
    expect(artifact('one').runner_failure).toMatchObject(failure);
    await expectValid(folder);
  });

  test('supports only a later revision, or refuses to initialize, gets no tool call', async () => {
    const later = await served((_request, response, message) =>
      reply(response, { id: message?.['id'], error: { code: -32_022, data: { supported: ['2030-01-01'] } } }, 400),
    );
    const refusing = await served((_request, response, message) =>
      reply(response, { id: message?.['id'], error: { code: -32_601, message: 'Method not found' } }),
    );
    for (const { url, seen } of [later, refusing]) {
      const { artifact } = await ranDeclared(['one'], declarationOf(url));
      expect(artifact('one').runner_failure).toMatchObject({ class: 'other', error_name: 'NOT_SENT' });
      expect(methodsOf(seen)).not.toContain('tools/call');
    }
  });
});
