/** Replies that are too large for the queue, if the store refuses them for good. */
import { readdirSync, readFileSync } from 'node:fs';
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
import { scriptWorld } from '../run/suite/queued-scripts-world.ts';
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

/** An S3 service that refuses what `reader` writes. */
async function startRefusingS3(): Promise<string> {
  const blobs = new Map<string, Buffer>();
  const server = createServer((asked, response) => {
    const sent: Buffer[] = [];
    asked.on('data', (piece: Buffer) => sent.push(piece));
    asked.on('end', () => {
      const { method, url = '', headers } = asked;
      const isRefused = method === 'PUT' && headers.authorization?.includes('Credential=reader/');
      if (method === 'PUT' && !isRefused) blobs.set(url, Buffer.concat(sent));
      const blob = method === 'GET' ? blobs.get(url) : undefined;
      response.writeHead(isRefused ? 403 : blobs.has(url) ? 200 : 404).end(blob);
    });
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `s3://bucket?endpoint=http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const OFFER: WorkerOffer = { worker: 'w1', protocols: [1], needs: ['http'], slots: 8, version: '0.0.0' };
const NOW = { waitMs: 0 };
const READER = { AWS_ACCESS_KEY_ID: 'reader', AWS_SECRET_ACCESS_KEY: 'secret' };

test.each([
  ['the server has no store', async () => ({}), 'NO_STORE'],
  ['its store refuses access', async () => ({ store: await startRefusingS3() }), 'STORE_RIGHTS'],
])('a worker at a server reports why it cannot send a large reply: %s', async (_, settings, errorName) => {
  const { queue, run, agent, folder } = await largeReplies();
  const { at, worker } = await workerWorld({ queue, environment: READER, ...(await settings()) });
  startWorker({ on: { url: at.origin, token: (await worker('w1')).token } });
  expect((await run()).runs[0]).toMatchObject({ ok: 0, failed: 1 });
  expect(failureIn(folder)).toMatchObject({ class: 'other', error_name: errorName, attempt: 1 });
  expect(agent.times('a')).toBe(1);
  await expectValid(folder);
});

test('a worker reports that its store refuses access', async () => {
  const { run, worker, agent, folder } = await largeReplies();
  worker({ store: await startRefusingS3(), environment: READER });
  expect((await run()).runs[0]).toMatchObject({ ok: 0, failed: 1 });
  expect(failureIn(folder)).toMatchObject({ class: 'other', error_name: 'STORE_RIGHTS', attempt: 1 });
  expect(agent.times('a')).toBe(1);
  await expectValid(folder);
});

test('a worker reports that its store refuses the run of a script', async () => {
  const world = scriptWorld(['a']);
  const store = await startRefusingS3();
  const { events, cwd } = world.worker({ store, environment: READER, name: 'w1' });
  await world.run({ store, environment: { ...READER, AWS_ACCESS_KEY_ID: 'writer' } });
  expect(world.artifact('a').runner_failure).toMatchObject({ class: 'other', error_name: 'STORE_RIGHTS', attempt: 1 });
  await expect.poll(() => events).toContainEqual({ is: 'settled', key: 'r1/a/1', end: 'reported' });
  expect(readdirSync(path.join(cwd, '.proctor', 'workers', 'w1', 'runs', 'script'))).toEqual([]);
  await expectValid(world.folder);
});

test('a server without a store reports it, also for a large blob', async () => {
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
    code: 'claim_lost',
  });
});

async function* pieces(blob: Buffer): AsyncGenerator<Uint8Array> {
  yield blob;
}

function failureIn(folder: string): CaseArtifact['runner_failure'] {
  return (JSON.parse(readFileSync(path.join(folder, 'a.json'), 'utf8')) as CaseArtifact).runner_failure;
}
