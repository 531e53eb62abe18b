/** Suites whose large cases and replies travel through a store that is sometimes away. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { CaseArtifact } from '../../../src/contracts/artifacts/index.ts';
import { answerTo, json } from './agent.ts';
import { queueWorld } from './queue-world.ts';
import { expectValid } from './support.ts';

const LARGE = 'x'.repeat(100_000);

/** An S3 service that answers the first request of each kind for each blob with 503. */
async function startFlakyS3() {
  const blobs = new Map<string, Buffer>();
  const refused: string[] = [];
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const { method = '', url = '' } = request;
      const name = `${method} ${url}`;
      if (!refused.includes(name)) {
        refused.push(name);
        response.writeHead(503).end();
        return;
      }
      if (method === 'PUT') blobs.set(url, Buffer.concat(pieces));
      response.writeHead(blobs.has(url) ? 200 : 404).end(method === 'GET' ? blobs.get(url) : undefined);
    });
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { store: `s3://bucket?endpoint=http://127.0.0.1:${port}`, refused };
}

test('an outage of the store is in no evidence: conductor and worker wait for it', async () => {
  const { store, refused } = await startFlakyS3();
  const { run, worker, agent, cwd, folder } = await queueWorld({
    ids: ['a'],
    behaviours: {
      a: (seen, response) => json(response, answerTo(seen, { final_output: { content_type: 'text', content: LARGE } })),
    },
  });
  writeFileSync(path.join(cwd, 'cases.jsonl'), `${JSON.stringify({ id: 'a', input: { user: LARGE } })}\n`);
  const environment = { AWS_ACCESS_KEY_ID: 'me', AWS_SECRET_ACCESS_KEY: 'secret' };
  const warnings: string[] = [];
  worker({ store, environment });
  const { runs } = await run({ store, environment, onWarning: sentence => warnings.push(sentence) });
  expect(runs[0]).toMatchObject({ ok: 1, failed: 0 });
  // The question and the reply, each written and read.
  expect(refused.map(name => name.split(' ')[0])).toEqual(['PUT', 'GET', 'PUT', 'GET']);
  expect([agent.seen.length, warnings]).toEqual([1, []]);
  const { attempts } = JSON.parse(readFileSync(path.join(folder, 'a.json'), 'utf8')) as CaseArtifact;
  expect(attempts).toHaveLength(1);
  await expectValid(folder);
});
