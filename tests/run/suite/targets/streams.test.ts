import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ranDeclared, repliesIn } from './declared-world.ts';

type Reply = (response: ServerResponse, caseId: string) => void;

async function serving(reply: Reply): Promise<string> {
  const server = createServer((request, response) => reply(response, path.basename(request.url ?? '')));
  onTestFinished(() => server.close().closeAllConnections());
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const declared = (url: string, over: object = {}): object => ({
  kind: 'http',
  url,
  request: { method: 'POST', path: '/${case.id}', body: {} },
  stream: { as: 'sse', first_output: '$.data.text' },
  reply: {
    final_output: { path: '$.frames[*].data.text', join: '' },
    failed: { path: '$.frames[*].data.error', join: '' },
  },
  retries: 0,
  ...over,
});

const sse = (...frames: readonly object[]): string =>
  frames.map(frame => `data: ${JSON.stringify(frame)}\n\n`).join('');

describe('a compressed stream', () => {
  const BODY = sse({ text: 'Hello ' }, { text: 'there' });
  const ENCODERS = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync };

  test.each(Object.entries(ENCODERS))(
    'with %s fails as COMPRESSED_STREAM while it is still open',
    async (encoding, encode) => {
      const url = await serving(response => {
        response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': encoding });
        // It never ends.
        response.write(encode(BODY));
      });
      const { artifact } = await ranDeclared(['a'], declared(url));
      expect(artifact('a').runner_failure).toMatchObject({
        class: 'invalid_json',
        error_name: 'COMPRESSED_STREAM',
      });
    },
  );

  test('without the content type of a stream is read, but has no frame times', async () => {
    const url = await serving(response => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
      response.end(gzipSync(BODY));
    });
    const { artifact, folder } = await ranDeclared(['a'], declared(url));
    expect(artifact('a')).toMatchObject({ status: 'ok', final_output: { content: 'Hello there' } });
    expect(artifact('a').attempts).toEqual([expect.not.objectContaining({ ttft_ms: expect.anything() })]);
    expect(repliesIn(folder)['a']?.frame_ms).toEqual([]);
  });

  test('of an MCP server fails as COMPRESSED_STREAM', async () => {
    const url = await serving(response => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' });
      response.write(gzipSync(sse({ jsonrpc: '2.0', id: 1, result: {} })));
    });
    const { artifact } = await ranDeclared(['a'], { kind: 'mcp-tool', url, tool: 't', arguments: {}, retries: 0 });
    expect(artifact('a').runner_failure).toMatchObject({ error_name: 'COMPRESSED_STREAM' });
  });
});

describe('a secret in pieces', () => {
  const SECRET = 'tok_4f9a8b7c6d5e';
  const halves = [SECRET.slice(0, 8), SECRET.slice(8)] as const;
  const pieces = sse({ text: halves[0] }, { text: halves[1] });

  /** All files of the run as one text. */
  function storedIn(folder: string): string {
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile());
    return files.map(file => readFileSync(path.join(file.parentPath, file.name), 'utf8')).join('\n');
  }

  test.each<[string, Reply]>([
    ['reports a failure', response => void response.end(pieces + sse({ error: 'Out of memory' }))],
    ['ends within a frame', response => void response.end(`${pieces}data: {"te`)],
    ['has the status 500', response => void response.writeHead(500).end(pieces)],
    ['breaks off', response => void response.write(pieces, () => response.destroy())],
  ])('is not stored with a stream that %s', async (_, reply) => {
    const { artifact, folder } = await ranDeclared(['a'], declared(await serving(reply)), {
      secrets: { TOKEN: SECRET },
    });
    const { runner_failure } = artifact('a');
    expect(runner_failure?.error_message).toContain('because it contains a secret in pieces.');
    expect(runner_failure?.body_snippet).toBeNull();
    const stored = storedIn(folder);
    for (const half of halves) expect(stored).not.toContain(half);
  });

  test('is masked in the reason for a failure', async () => {
    const reply = sse({ text: 'x' }, { error: halves[0] }, { error: halves[1] });
    const url = await serving(response => void response.end(reply));
    const { folder } = await ranDeclared(['a'], declared(url), { secrets: { TOKEN: SECRET } });
    const stored = storedIn(folder);
    for (const half of [SECRET, ...halves]) expect(stored).not.toContain(half);
  });

  test('is not stored with an answer, even if no path of the mapping reads it', async () => {
    const reply = sse({ thought: halves[0] }, { thought: halves[1] }, { text: 'Done' });
    const url = await serving(response => void response.end(reply));
    const { artifact, folder } = await ranDeclared(['a'], declared(url), { secrets: { TOKEN: SECRET } });
    expect(artifact('a').runner_failure).toMatchObject({ error_name: 'SECRET_IN_PIECES' });
    for (const half of halves) expect(storedIn(folder)).not.toContain(half);
  });

  test('is not stored with the reply of a program that reports a failure', async () => {
    const printed = { parts: halves, problem: 'Out of memory' };
    const declaration = {
      kind: 'command',
      run: ['node', '-e', `console.log(${JSON.stringify(JSON.stringify(printed))})`],
      sandbox: 'none',
      reply: { final_output: { path: '$.parts[*]', join: '' }, failed: '$.problem' },
    };
    // The declaration contains the pieces, so only the files of the case are checked.
    const environment = { PATH: process.env['PATH'] };
    const { artifact, folder } = await ranDeclared(['a'], declaration, { environment, secrets: { TOKEN: SECRET } });
    expect(artifact('a').runner_failure?.error_message).toContain('because it contains a secret in pieces.');
    expect(readdirSync(path.join(folder, 'assets'))).not.toContainEqual(expect.stringContaining('body'));
    for (const half of halves) expect(JSON.stringify(artifact('a'))).not.toContain(half);
  });

  test('is the only reason not to store the reply of a failure', async () => {
    const url = await serving(response => void response.end(sse({ text: 'Part' }, { error: 'Out of memory' })));
    const { artifact } = await ranDeclared(['a'], declared(url), { secrets: { TOKEN: SECRET } });
    expect(artifact('a').runner_failure).toMatchObject({ body_snippet: expect.stringContaining('Part') });
  });
});

test.each([
  ['websocket', 'ws', { send: ['x'], reply: { final_output: '$' } }],
  ['mcp-tool', 'http', { tool: 't', arguments: {} }],
  ['http', 'http', { request: {}, reply: { final_output: '$' } }],
])('an address of %s from the environment is checked before anything is sent', async (kind, scheme, keys) => {
  for (const address of ['nowhere', `${scheme}://user:hunter2@127.0.0.1:1`, 'file:///etc/passwd']) {
    const declaration = { kind, url: '${env:ADDRESS}', ...keys };
    const ran = ranDeclared(['a'], declaration, { environment: { ADDRESS: address } });
    const says = `The url of the target must start with ${scheme}:// or ${scheme}s://, without credentials, query or fragment.`;
    await expect(ran).rejects.toThrow(says);
  }
});
