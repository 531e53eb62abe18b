import { describe, expect, test } from 'vitest';
import { check } from '../../src/contracts/check.ts';
import { target, type TargetDeclaration } from '../../src/contracts/target/index.ts';

const HTTP: TargetDeclaration = {
  kind: 'http',
  url: 'http://127.0.0.1:1',
  request: { path: '/chat', body: { message: '${input.user}' } },
  reply: { final_output: '$.text' },
};
const MODEL = { kind: 'openai-chat', url: 'http://127.0.0.1:1/v1', model: 'm' };
const KEY = `sk-ant-${'a1B2'.repeat(10)}`;

function violations(declaration: object): string[] {
  return check(target, declaration, { strict: false, internal: false }).violations.map(({ message }) => message);
}

describe('a literal credential is refused', () => {
  test.each<[string, object]>([
    ['request.body.auth.value', { ...HTTP, request: { body: { auth: { value: KEY } } } }],
    ['request.body[1]', { ...HTTP, request: { body: ['x', `use ${KEY}`] } }],
    ['request.path', { ...HTTP, request: { path: `/chat/${KEY}` } }],
    ['session.request.body.k', { ...HTTP, session: { request: { body: { k: KEY } }, take: '$.id' } }],
    ['session.request.query.token', { ...HTTP, session: { request: { query: { token: 'x' } }, take: '$.id' } }],
    ['reset.path', { ...HTTP, reset: { path: `/reset/${KEY}` } }],
    ['reset.query.api_key', { ...HTTP, reset: { query: { api_key: 'x' } } }],
    [
      'poll.path',
      { ...HTTP, poll: { id: '$.id', path: `/jobs/\${poll.id}/${KEY}`, until: { path: '$.s', in: ['done'] } } },
    ],
    ['url', { ...HTTP, url: `http://127.0.0.1:1/${KEY}` }],
    ['system', { ...MODEL, system: `Your key is ${KEY}.` }],
    ['parameters.metadata.note', { ...MODEL, parameters: { metadata: { note: KEY } } }],
    ['arguments.k', { kind: 'mcp-tool', url: 'http://127.0.0.1:1', tool: 't', arguments: { k: KEY } }],
    ['input.k', { kind: 'command', run: ['x'], input: { k: KEY } }],
    ['run[1]', { kind: 'command', run: ['x', KEY] }],
    [
      'request.body.secret_access_key',
      { ...HTTP, request: { body: { secret_access_key: 'wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY12' } } },
    ],
  ])('at %s, without its value in the message', (place, declaration) => {
    const messages = violations(declaration);
    expect(messages).toEqual([expect.stringContaining(`${place} `)]);
    expect(messages.join()).toContain('${env:NAME}');
    expect(messages.join()).not.toContain(KEY);
  });

  test('but a placeholder or ordinary text is not', () => {
    const body = { key: '${env:DESK_KEY}', token: '${attempt.key}', note: 'sk-', auth: 'Bearer ${env:DESK_KEY}' };
    expect(violations({ ...HTTP, request: { path: '/v1/${env:TENANT}', body } })).toEqual([]);
  });
});

describe('a wait that cannot end, or lasts over an hour, is refused', () => {
  const poll = { id: '$.id', path: '/jobs/${poll.id}', until: { path: '$.state', in: ['done'] } };
  const socket = { kind: 'websocket', url: 'ws://127.0.0.1:1', send: ['x'], reply: { final_output: '$' } };
  const start = { run: ['x'] };
  test.each<[string, object]>([
    ['poll.until.in', { ...HTTP, poll: { ...poll, until: { path: '$.state', in: [] } } }],
    ['poll.failed.in', { ...HTTP, poll: { ...poll, failed: { path: '$.state', in: [] } } }],
    ['stream.until.in', { ...HTTP, stream: { as: 'sse', until: { path: '$.event', in: [] } } }],
    ['until.in', { ...socket, until: { path: '$.type', in: [] } }],
    ['poll', { ...HTTP, poll, stream: { as: 'sse' } }],
    ['poll.every', { ...HTTP, poll: { ...poll, every: '999999999m' } }],
    ['timeout', { ...HTTP, timeout: '61m' }],
    ['start.ready.within', { ...HTTP, start: { ...start, ready: { within: '999999999s' } } }],
    ['start.stop.within', { ...HTTP, start: { ...start, stop: { within: '3600001ms' } } }],
  ])('at %s', (place, declaration) => {
    expect(violations(declaration)).toEqual([
      expect.stringMatching(new RegExp(`^${place.replaceAll('.', '\\.')} .*\\.$`)),
    ]);
  });

  test('but a wait that can end within an hour is not', () => {
    expect(violations({ ...HTTP, poll: { ...poll, every: '60m' } })).toEqual([]);
    expect(violations({ ...HTTP, stream: { as: 'sse', until: { path: '$.event', in: ['done'] } } })).toEqual([]);
  });
});
