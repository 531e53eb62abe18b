import { writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { tryTarget } from '../../src/verbs/try-target.ts';
import { temporaryFolder } from '../support/support.ts';

let server: Server | undefined;
afterEach(() => server?.close());

async function tried(value: string, listener: RequestListener, final_output: unknown = '$.output') {
  server = createServer(listener);
  await new Promise<void>(resolve => server?.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const target = path.join(temporaryFolder(), 'target.json');
  const headers = { authorization: '${env:KEY}' };
  const declaration = { kind: 'http', url: `http://127.0.0.1:${port}`, headers, request: {}, reply: { final_output } };
  writeFileSync(target, JSON.stringify(declaration));
  return tryTarget({ target, text: 'x', environment: { KEY: value } });
}

test('a secret that a mapping joins from pieces of a document is not stored', async () => {
  const secret = 'tok-9f8e7d6c5b4a39281706';
  const parts = JSON.stringify({ parts: [secret.slice(0, 12), secret.slice(12)] });
  const { artifact } = await tried(secret, (_, response) => response.end(parts), { path: '$.parts[*]', join: '' });
  expect(artifact.runner_failure?.error_name).toBe('SECRET_IN_PIECES');
  expect(JSON.stringify(artifact)).not.toContain(secret);
});

test('the parts of a secret header are masked in everything that is shown', async () => {
  const secret = `Basic ${Buffer.from('bob:hunter2hunter2').toString('base64')}`;
  const shown = await tried(secret, (_, response) => {
    response.setHeader('content-type', 'text/hunter2hunter2');
    response.end('{"output":"You are bob:hunter2hunter2."}');
  });
  expect(shown.artifact.status).toBe('ok');
  expect(JSON.stringify(shown)).not.toContain('hunter2');
});
