/** Replies that are too large for the queue, if the store refuses them for good. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { bytesHash } from '../../src/base/hash.ts';
import type { CaseArtifact } from '../../src/contracts/artifacts/index.ts';
import { MemoryQueue } from '../../src/queue/memory.ts';
import type { WorkerOffer } from '../../src/queue/queue.ts';
import { request } from '../conformance/queue.ts';
import { answerTo, json } from '../run/suite/agent.ts';
import { queueWorld, startWorker } from '../run/suite/queue-world.ts';
import { expectValid } from '../run/suite/support.ts';
import { workerWorld } from '../serve/worker-world.ts';
import { temporaryFolder } from '../support/support.ts';

async function largeReplies() {
  const content = 'x'.repeat(100_000);
  return queueWorld({
    ids: ['a'],
    behaviours: {
      a: (seen, response) => json(response, answerTo(seen, { final_output: { content_type: 'text', content } })),
    },
  });
}

async function startRefusingS3(): Promise<string> {
  const server = createServer((asked, response) => {
    asked.resume();
    asked.on('end', () => response.writeHead(403).end());
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `s3://bucket?endpoint=http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const OFFER: WorkerOffer = { worker: 'w1', protocols: [1], needs: ['http'], slots: 8, version: '0.0.0' };
const NOW = { waitMs: 0 };
const ENVIRONMENT = { AWS_ACCESS_KEY_ID: 'me', AWS_SECRET_ACCESS_KEY: 'secret' };

test.each([
  ['the server has no store', async () => ({}), 'NO_STORE'],
  ['its store refuses access', async () => ({ store: await startRefusingS3() }), 'STORE_RIGHTS'],
])('a worker at a server reports why it cannot send a large reply: %s', async (_, settings, errorName) => {
  const { queue, run, agent, folder } = await largeReplies();
  const { at, worker } = await workerWorld({ queue, environment: ENVIRONMENT, ...(await settings()) });
  startWorker({ on: { url: at.origin, token: (await worker('w1')).token } });
  expect((await run()).runs[0]).toMatchObject({ ok: 0, failed: 1 });
  expect(failureIn(folder)).toMatchObject({ class: 'other', error_name: errorName, attempt: 1 });
  expect(agent.times('a')).toBe(1);
  await expectValid(folder);
});

test('a worker reports that its store refuses access', async () => {
  const { run, worker, agent, folder } = await largeReplies();
  worker({ store: await startRefusingS3(), environment: ENVIRONMENT });
  expect((await run()).runs[0]).toMatchObject({ ok: 0, failed: 1 });
  expect(failureIn(folder)).toMatchObject({ class: 'other', error_name: 'STORE_RIGHTS', attempt: 1 });
  expect(agent.times('a')).toBe(1);
  await expectValid(folder);
});

test('a server without a store says so, however large the blob is', async () => {
  const queue = new MemoryQueue();
  await queue.offer([request('a')]);
  const { worker } = await workerWorld({ queue });
  const remote = await worker('w1');
  await remote.queue.claim(OFFER, 1, NOW);
  const blob = Buffer.alloc(32 * 1024 ** 2, 'x');
  await expect(remote.store.put(bytesHash(blob), pieces(blob), blob.length)).rejects.toMatchObject({
    code: 'no_store',
    message: 'The server has no store. Its operator can start it with --store.',
  });
});

test('a lost attempt does not keep the others of its worker from storing a blob', async () => {
  const queue = new MemoryQueue();
  await queue.offer([request('a'), request('b', { runId: 'other' })]);
  const { worker } = await workerWorld({ queue, store: temporaryFolder() });
  const remote = await worker('w1');
  expect(await remote.queue.claim(OFFER, 2, NOW)).toHaveLength(2);
  await queue.withdraw('other');
  const blob = Buffer.from('a reply');
  await remote.store.put(bytesHash(blob), pieces(blob), blob.length);
  await queue.withdraw('run');
  await expect(remote.store.put(bytesHash(blob), pieces(blob), blob.length)).rejects.toMatchObject({
    code: 'store_rights',
  });
});

async function* pieces(blob: Buffer): AsyncGenerator<Uint8Array> {
  yield blob;
}

function failureIn(folder: string): CaseArtifact['runner_failure'] {
  return (JSON.parse(readFileSync(path.join(folder, 'a.json'), 'utf8')) as CaseArtifact).runner_failure;
}
