import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { tryTarget } from '../../../../src/verbs/try-target.ts';
import { temporaryFolder } from '../../../support/support.ts';
import { everythingIn, expectValid } from '../support.ts';
import { ranDeclared, repliesIn, rulesAfterChange } from './declared-world.ts';
import { type Behaviour, declarationOf, rawServer, sends, WebSocketAgent } from './websocket-agent.ts';

const IDS = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve'];

describe('a WebSocket target', () => {
  test('sends each case over a separate connection, and maps the stored messages', async () => {
    const agent = new WebSocketAgent();
    const url = await agent.start();
    const { folder, artifact, run } = await ranDeclared(IDS, declarationOf(url), { concurrency: 8 });
    expect(run.stats).toMatchObject({ cases_completed: IDS.length, cases_failed: 0 });
    expect(agent.talks).toHaveLength(IDS.length);
    const sessions = agent.talks.map(({ messages }) => (JSON.parse(messages[0] ?? '') as { session: string }).session);
    expect(new Set(sessions).size).toBe(IDS.length);
    const replies = repliesIn(folder);
    for (const id of IDS) {
      const kept = artifact(id);
      expect(kept.final_output?.content).toBe(`You asked: What about ${id}?`);
      expect(kept.events).toMatchObject([{ type: 'tool_call', tool: 'orders', args: { q: `What about ${id}?` } }]);
      expect(kept.attempts?.[0]).toMatchObject({ http_status: 101 });
      const { frame_ms: times = [], body } = replies[id] ?? {};
      expect(times).toHaveLength(4);
      expect(times).toEqual(times.toSorted((a, b) => a - b));
      expect(kept.attempts?.[0]?.ttft_ms).toBe(times[0]);
      expect(
        body
          ?.trimEnd()
          .split('\n')
          .map(line => (JSON.parse(line) as { type: string }).type),
      ).toEqual(['token', 'tool', 'token', 'done']);
    }
    await expectValid(folder);
    expect(await rulesAfterChange(folder, 'You asked', 'I asked')).toContain('FD14');
  });

  test('sends all messages in order, text unchanged, and reads until the server closes the connection', async () => {
    const agent = new WebSocketAgent({
      '': (message, { socket }) => {
        socket.send(`got ${message}`);
        if (message === 'end') socket.close(1000);
      },
    });
    const declaration = {
      kind: 'websocket',
      url: await agent.start(),
      send: ['hello', { n: 1, side: '${side}' }, 'end'],
      reply: { final_output: { path: '$.frames[*].data', join: '|' } },
    };
    const { folder, artifact } = await ranDeclared(['talk'], declaration);
    expect(artifact('talk').final_output?.content).toBe('got hello|got {"n":1,"side":"baseline"}|got end');
    await expectValid(folder);
  });

  test('can end the reply at a message that is not JSON', async () => {
    const agent = new WebSocketAgent({ plain: sends('{"text":"Hi"}', '[DONE]', '{"text":"too late"}') });
    const { folder, artifact } = await ranDeclared(
      ['plain'],
      declarationOf(await agent.start(), {
        until: { path: '$', in: ['[DONE]'] },
        reply: { final_output: { path: '$.frames[*].data.text', join: '' } },
      }),
    );
    expect(artifact('plain').final_output?.content).toBe('Hi');
    expect(repliesIn(folder)['plain']?.body).toBe('{"text":"Hi"}\n"[DONE]"\n');
    await expectValid(folder);
  });

  test('sends credentials with the handshake, and masks them in everything it stores', async () => {
    const token = 'tok_4f9a8b7c6d5e';
    const agent = new WebSocketAgent({
      leaks: sends(`{"type":"token","text":"Your token is ${token}"}`, '{"type":"done"}'),
      fails: sends(`{"type":"error","message":"bad ${token}"}`),
    });
    const declaration = declarationOf(await agent.start(), {
      auth: { bearer: '${env:DESK_TOKEN}' },
      headers: { 'x-tenant': '${case.id}', 'sec-websocket-protocol': 'desk.v1' },
    });
    const { folder, artifact } = await ranDeclared(['leaks', 'fails'], declaration, {
      environment: { DESK_TOKEN: token },
    });
    const seen = agent.talks.map(({ headers }) => [headers['authorization'], headers['x-tenant']]);
    expect(seen).toContainEqual([`Bearer ${token}`, 'leaks']);
    expect(agent.talks.every(({ headers }) => headers['sec-websocket-extensions'] === undefined)).toBe(true);
    expect(artifact('leaks').final_output?.content).toBe('Your token is [masked]');
    expect(artifact('fails').runner_failure).toMatchObject({
      class: 'schema_mismatch',
      error_name: 'AGENT_FAILED',
      error_message: 'The agent reported a failure: bad [masked]',
    });
    expect(everythingIn(folder)).not.toContain(token);
    await expectValid(folder);
  });

  test('can be tried: the result shows everything that was sent and received', async () => {
    const agent = new WebSocketAgent();
    const cwd = temporaryFolder();
    writeFileSync(path.join(cwd, 'agent.json'), JSON.stringify(declarationOf(await agent.start())));
    const tried = await tryTarget({ target: 'agent.json', text: 'Where is my order?', cwd });
    expect(tried.artifact.final_output?.content).toBe('You asked: Where is my order?');
    expect(tried.exchanges).toMatchObject([{ status: 101, request: { method: 'GET', path: '/talk' } }]);
    expect(tried.exchanges[0]?.request.body).toContain('"question":"Where is my order?"');
    expect(tried.exchanges[0]?.reply.split('\n')).toHaveLength(5);
    expect(tried.places.filter(({ isFound }) => !isFound)).toEqual([]);
  });
});

const floods: Behaviour = (_message, { socket, raw }) => {
  const more = (): void => {
    if (!raw.writable) return;
    for (let left = 100; left > 0; left--) socket.send('{"type":"token","text":"more"}');
    if (raw.writableNeedDrain) raw.once('drain', more);
    else setImmediate(more);
  };
  more();
};

const frame = (opcode: number, payload: Buffer): Buffer =>
  Buffer.concat([Buffer.from([0x80 | opcode, payload.length]), payload]);

/** What an agent does, and how the failure is classified. */
const FAULTS: readonly (readonly [id: string, behaviour: Behaviour, failure: object])[] = [
  ['closes-with-code', (_m, { socket }) => socket.close(1011), { class: 'network_error', error_name: 'WS_CLOSE_1011' }],
  ['goes-away', (_m, { socket }) => socket.close(1001), { class: 'network_error', error_name: 'WS_CLOSE_1001' }],
  ['drops', (_m, { socket }) => socket.terminate(), { class: 'network_error', error_name: 'UND_ERR_SOCKET' }],
  ['resets', (_m, { raw }) => void raw.resetAndDestroy(), { class: 'network_error', error_name: 'ECONNRESET' }],
  ['sends-binary', sends(Buffer.from('{"type":"done"}')), { class: 'schema_mismatch', error_name: 'BINARY_MESSAGE' }],
  ['sends-much', sends(`"${'x'.repeat(3_000_000)}"`), { class: 'schema_mismatch', error_name: 'TOO_LARGE' }],
  ['floods', floods, { class: 'schema_mismatch', error_name: 'TOO_LARGE' }],
  [
    'never-completes',
    (_m, { raw }) => {
      // The header announces 8 MB, but only 3 MB follow.
      raw.write(Buffer.from([0x81, 127, 0, 0, 0, 0, 0, 0x7a, 0x12, 0]));
      raw.write(Buffer.alloc(3_000_000, 'x'));
    },
    { class: 'schema_mismatch', error_name: 'TOO_LARGE' },
  ],
  [
    'sends-no-text',
    (_m, { raw }) => void raw.write(frame(1, Buffer.from([0xff, 0xfe]))),
    { class: 'invalid_json', error_name: 'WS_PROTOCOL' },
  ],
  [
    'breaks-the-protocol',
    (_m, { raw }) => void raw.write(Buffer.from([0xf7, 0x01, 0x00])),
    { class: 'invalid_json', error_name: 'WS_PROTOCOL' },
  ],
  ['closes-early', (_m, { socket }) => socket.close(1000), { class: 'invalid_json' }],
  ['reports', sends('{"type":"error","message":"No stock"}'), { class: 'schema_mismatch', error_name: 'AGENT_FAILED' }],
];

describe('a WebSocket agent that', () => {
  test('fails in every known way gets an artifact for each case, with the same failure class as over HTTP', async () => {
    const agent = new WebSocketAgent(Object.fromEntries(FAULTS.map(([id, behaviour]) => [id, behaviour])), false);
    const ids = FAULTS.map(([id]) => id);
    const { folder, artifact } = await ranDeclared([...ids, 'fine'], declarationOf(await agent.start()), {
      concurrency: 8,
      breakerFailures: 0,
    });
    for (const [id, , failure] of FAULTS) expect(artifact(id).runner_failure, id).toMatchObject(failure);
    expect(artifact('fine').status).toBe('ok');
    await expectValid(folder);
  });

  test.each([
    ['answers 503', 'HTTP/1.1 503 Busy\r\nretry-after: 0\r\ncontent-length: 4\r\n\r\nBusy', 'http_error', 503],
    ['redirects', 'HTTP/1.1 307 Moved\r\nlocation: ws://127.0.0.1:9/\r\ncontent-length: 0\r\n\r\n', 'http_error', 307],
    ['answers 200', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}', 'http_error', 200],
    [
      'sends a wrong accept key',
      'HTTP/1.1 101 Go\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: x\r\n\r\n',
      'invalid_json',
      undefined,
    ],
    [
      'enables compression unasked',
      'HTTP/1.1 101 Go\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-extensions: permessage-deflate\r\n\r\n',
      'invalid_json',
      undefined,
    ],
  ])('%s during the handshake fails', async (_what, response, errorClass, status) => {
    const url = await rawServer(socket => void socket.end(response));
    const { folder, artifact } = await ranDeclared(['a'], declarationOf(url));
    expect(artifact('a').runner_failure).toMatchObject({ class: errorClass, ...(status !== undefined && { status }) });
    await expectValid(folder);
  });

  test('refuses the connection or drops it during the handshake is a network error', async () => {
    const dropping = await rawServer(socket => void socket.destroy());
    const dropped = await ranDeclared(['a'], declarationOf(dropping));
    expect(dropped.artifact('a').runner_failure).toMatchObject({
      class: 'network_error',
      error_name: 'UND_ERR_SOCKET',
    });
    const { port } = new URL(await new WebSocketAgent().start());
    const refused = await ranDeclared(['a'], declarationOf(`ws://127.0.0.2:${port}`));
    expect(refused.artifact('a').runner_failure).toMatchObject({ class: 'network_error', error_name: 'ECONNREFUSED' });
  });

  test('falls silent is stopped by the idle limit, and one that never ends by the deadline', async () => {
    const agent = new WebSocketAgent({
      silent: sends('{"type":"token","text":"Well"}'),
      endless: (_message, { socket }) => {
        const timer = setInterval(() => socket.send('{"type":"token","text":"and "}'), 50);
        socket.on('close', () => clearInterval(timer));
      },
    });
    const declaration = declarationOf(await agent.start());
    const idle = await ranDeclared(['silent'], declaration, { idleMs: 300 });
    expect(idle.artifact('silent').runner_failure).toMatchObject({
      class: 'timeout',
      error_name: 'IDLE',
      body_snippet: '{"type":"token","text":"Well"}\n',
    });
    await expectValid(idle.folder);
    const late = await ranDeclared(['endless'], declaration, { timeoutMs: 1_000 });
    expect(late.artifact('endless').runner_failure).toMatchObject({ class: 'timeout', timeout_ms: 1_000 });
    await expectValid(late.folder);
  });

  test('never completes the handshake is stopped by the idle limit', async () => {
    const url = await rawServer(() => undefined);
    const { artifact } = await ranDeclared(['a'], declarationOf(url), { idleMs: 300 });
    expect(artifact('a').runner_failure).toMatchObject({ class: 'timeout', error_name: 'IDLE' });
  });
});
