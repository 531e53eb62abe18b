import { deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { door, events, fakeApi, send, type Sending, upstream } from '../execute/model/door-world.ts';

const ASK = { model: 'm', messages: [{ role: 'user', content: 'x' }] };
const SEARCH = { type: 'web_search_20250305', name: 'web_search' };
const body = (parts: object): string => JSON.stringify({ ...ASK, ...parts });
const searching = body({ tools: [SEARCH] });

/** Ways to the network that a process in the sandbox might try with the proxy token. */
const ATTEMPTS: readonly [string, Sending][] = [
  ["a provider's file", { path: '/v1/files', body: '{}' }],
  ['the key of another workspace', { path: '/v1/organizations/api_keys', method: 'GET' }],
  ['a batch that runs after the agent has ended', { path: '/v1/messages/batches' }],
  ['another endpoint through ..;', { path: '/v1/messages/..;/files' }],
  ['another endpoint through encoded slashes', { path: '/v1/messages%2f..%2ffiles' }],
  ['another endpoint in the query', { path: '/v1/messages?beta=true&path=/v1/files' }],
  ["a provider's file with a method override", { path: '/v1/files', headers: { 'x-http-method-override': 'GET' } }],
  ['a search without other tools', { body: searching }],
  ['a search tool from a future version', { body: body({ tools: [{ type: 'web_search_20990101', name: 'x' }] }) }],
  ['a tool server', { body: body({ mcp_servers: [{ type: 'url', url: 'https://x', name: 'x' }] }) }],
  ['a container with skills', { body: body({ container: { skills: [{ skill_id: 'x' }] } }) }],
  [
    'an image at a URL',
    { body: body({ messages: [{ content: [{ type: 'image', source: { type: 'url', url: 'https://x' } }] }] }) },
  ],
  [
    'a file in a tool result',
    {
      body: body({
        messages: [{ content: [{ type: 'tool_result', content: [{ source: { type: 'file', file_id: 'f' } }] }] }],
      }),
    },
  ],
  [
    'a search under a duplicate key',
    { body: `${body({ tools: [] }).slice(0, -1)},"tools":[${JSON.stringify(SEARCH)}]}` },
  ],
  ['a search under an escaped key', { body: searching.replace('"tools"', String.raw`"\u0074ools"`) }],
  [
    'a search in the tool choice',
    { body: body({ tools: [SEARCH, { name: 'a' }], tool_choice: { type: 'tool', name: 'web_search' } }) },
  ],
  ['a search under __proto__', { body: body({}).replace('{', `{"__proto__":{"tools":[${JSON.stringify(SEARCH)}]},`) }],
  ['a compressed search', { body: gzipSync(searching), headers: { 'content-encoding': 'gzip' } }],
  [
    'a search that is compressed twice',
    { body: deflateSync(gzipSync(searching)), headers: { 'content-encoding': 'gzip, deflate' } },
  ],
  ['a search behind a byte order mark', { body: `\ufeff${searching}` }],
  ['a search in UTF-16', { body: Buffer.from(searching, 'utf16le') }],
  ['a search in the second document', { body: `${body({})}\n${searching}` }],
  ['tools nested deeper than the parser reads', { body: `{"tools":${'['.repeat(5_000)}${']'.repeat(5_000)}}` }],
  ['a search in a tool list that is not a list', { body: body({ tools: { 0: SEARCH, length: 1 } }) }],
  ['an unknown feature', { body: body({ remote_tools: ['https://x'] }) }],
];

describe('the proxy token gives no process in the sandbox', () => {
  test.each(ATTEMPTS)('%s', async (_, sending) => {
    const api = await fakeApi((_, response) => events(response, 'one'));
    const opened = await door({ kind: 'live', upstream: upstream(api.url) });
    const got = await send(opened, { path: '/v1/messages', body: body({}), ...sending });
    expect(got.status).toBe(400);
    expect(api.seen).toEqual([]);
    expect(opened.stats()).toMatchObject({ requests: 1, failures: 1, spent: { requests: 0 } });
  });

  test.each(['x-http-method-override', 'x-method-override', 'x-original-url', 'x-rewrite-url', 'x-forwarded-host'])(
    'another method or endpoint in the header %s',
    async name => {
      const api = await fakeApi((_, response) => events(response, 'one'));
      const opened = await door({ kind: 'live', upstream: upstream(api.url) });
      await send(opened, { path: '/v1/messages', body: body({}), headers: { [name]: '/v1/files' } });
      for (const { headers } of api.seen) expect(headers).not.toHaveProperty(name);
    },
  );

  test('more answers than the budget allows, even for concurrent requests', async () => {
    const api = await fakeApi((_, response) => setTimeout(() => events(response, 'one'), 20));
    const opened = await door({ kind: 'live', upstream: upstream(api.url) }, { budget: { maxRequests: 4 } });
    const got = await Promise.all(Array.from({ length: 42 }, () => send(opened, { body: body({}) })));
    expect(got.filter(({ status }) => status === 200)).toHaveLength(4);
    expect(api.seen).toHaveLength(4);
  });
});
