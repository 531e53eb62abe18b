/** What a worker may do at a server, and what it may not. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { Fault } from '../../../src/base/fault.ts';
import { bytesHash } from '../../../src/base/hash.ts';
import { isDatabaseDown } from '../../../src/queue/database-down.ts';
import { MemoryQueue } from '../../../src/queue/memory.ts';
import type { AttemptClaim, Queue, QueueWait, WorkerOffer } from '../../../src/queue/queue.ts';
import { FolderStore } from '../../../src/store/folder.ts';
import { reported, request } from '../../conformance/queue.ts';
import { temporaryFolder } from '../../support/support.ts';
import { send } from '../access/serve-world.ts';
import { remoteWorker, workerWorld } from '../worker-world.ts';

const OFFER: WorkerOffer = { worker: 'w1', protocols: [1], needs: ['http'], slots: 8, version: '0.0.0' };
const NOW = { waitMs: 0 };
const SECRET_TEXT = 'the question of another team';

async function* pieces(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

/** Two tokens. The first holds an attempt whose document is a blob. */
async function rivals() {
  const folder = temporaryFolder();
  const store = new FolderStore(folder);
  const digest = bytesHash(SECRET_TEXT);
  await store.put(digest, pieces(SECRET_TEXT), 1_000);
  const queue = new MemoryQueue();
  const { at, worker } = await workerWorld({ queue, store: folder });
  const [holder, rival] = [await worker('holder'), await worker('rival')];
  await queue.offer([request('a', { ask: digest })]);
  const [claim] = await holder.queue.claim(OFFER, 1, NOW);
  if (!claim) throw new Error('There is no claim.');
  const ask = (token: string, method: string, target: string, body?: object, ticket?: string) => {
    const claimed = ticket === undefined ? [] : [['proctor-claim', ticket] as const];
    return send(at, method, target, [['authorization', `Bearer ${token}`], ...claimed], body);
  };
  const audit = (): string => readFileSync(path.join(at.cwd, '.proctor', 'server', 'audit.ndjson'), 'utf8');
  return { at, queue, digest, holder, rival, claim, ticket: holder.queue.ticketsToWrite()[0] ?? '', ask, audit };
}

test('refuses the claim and the blob of another token, without a word of their content, and notes it', async () => {
  const { rival, ticket, digest, ask, audit, queue } = await rivals();
  const name = digest.slice('sha256:'.length);
  const end = { ticket, is: 'reported', text: 'forged' };
  const answers = [
    await ask(rival.token, 'POST', '/v1/beats', { tickets: [ticket] }),
    await ask(rival.token, 'POST', '/v1/settlements', { settlements: [end] }),
    await ask(rival.token, 'GET', `/v1/blobs/${name}`, undefined, ticket),
    await ask(rival.token, 'PUT', `/v1/blobs/${name}`, undefined, ticket),
    await ask(rival.token, 'GET', `/v1/blobs/${name}`),
  ];
  for (const { status, code, text } of answers) {
    expect([status, code]).toEqual([403, 'not_your_claim']);
    expect(text).not.toMatch(/question|run\/a|sha256/);
  }
  for (const verb of ['beat', 'settle', 'readBlob', 'writeBlob'])
    expect(audit()).toMatch(new RegExp(`"code":"not_your_claim".*"name":"rival".*"verb":"${verb}"`));
  expect((await queue.outcomes(['run/a/1'], NOW)).size).toBe(0);
});

test('gives a ticket of a usual length for a request that names hundreds of files', async () => {
  const { queue, holder, ask } = await rivals();
  const files = Array.from({ length: 500 }, (_, index) => ({ sha256: bytesHash(`${index}`) }));
  const hostile = JSON.stringify({ schema_version: 'published-request.v1', files, inputs: [] });
  await queue.offer([request('b', { ask: hostile })]);
  expect(await holder.queue.claim(OFFER, 1, NOW)).toMatchObject([{ request: { ask: hostile } }]);
  const ticket = holder.queue.ticketsToWrite()[0] ?? '';
  expect(await ask(holder.token, 'POST', '/v1/beats', { tickets: [ticket] })).toMatchObject({ status: 200 });
  const name = bytesHash('0').replace('sha256:', '');
  expect((await ask(holder.token, 'GET', `/v1/blobs/${name}`, undefined, ticket)).status).toBe(403);
});

test('refuses a ticket that was changed', async () => {
  const { holder, ticket, ask } = await rivals();
  const [payload = '', code = ''] = ticket.split('.');
  const other = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { claim: { request: { ask: string } } };
  other.claim.request.ask = bytesHash('something else');
  const forged = `${Buffer.from(JSON.stringify(other)).toString('base64url')}.${code}`;
  expect((await ask(holder.token, 'POST', '/v1/beats', { tickets: [forged] })).code).toBe('not_your_claim');
});

test('gives a worker the blob that its attempt names, and no other', async () => {
  const { holder, digest, claim, ticket, ask } = await rivals();
  const read: Uint8Array[] = [];
  for await (const piece of (await holder.store.get(digest)) ?? []) read.push(piece);
  expect(Buffer.concat(read).toString()).toBe(SECRET_TEXT);
  await holder.store.put(bytesHash('a reply'), pieces('a reply'), 100);
  const reply = bytesHash('a reply').slice('sha256:'.length);
  expect((await ask(holder.token, 'GET', `/v1/blobs/${reply}`, undefined, ticket)).status).toBe(403);
  await holder.queue.settle([reported(claim)]);
  const name = digest.slice('sha256:'.length);
  expect((await ask(holder.token, 'GET', `/v1/blobs/${name}`, undefined, ticket)).status).toBe(403);
});

test.each([
  ['in the queue', (ask: string) => ask],
  ['in the store', (ask: string) => bytesHash(ask)],
])('gives a worker the script that its attempt names, and no other: the request is %s', async (_, sent) => {
  const folder = temporaryFolder();
  const store = new FolderStore(folder);
  const [script, other] = ['print(1)', 'print("of another team")'].map(text => ({ text, digest: bytesHash(text) }));
  if (!script || !other) throw new Error('There is no script.');
  const ask = JSON.stringify({ target: { kind: 'script', sha256: script.digest } });
  for (const text of [script.text, other.text, ask]) await store.put(bytesHash(text), pieces(text), 1_000);
  const queue = new MemoryQueue();
  const { at, worker } = await workerWorld({ queue, store: folder });
  const holder = await worker('holder');
  await queue.offer([request('a', { ask: sent(ask) })]);
  const [claim] = await holder.queue.claim(OFFER, 1, NOW);
  const read: Uint8Array[] = [];
  for await (const piece of (await holder.store.get(script.digest)) ?? []) read.push(piece);
  expect(Buffer.concat(read).toString()).toBe(script.text);
  const ticket = holder.queue.ticketsToWrite()[0] ?? '';
  const get = (digest: string) => {
    const headers = [['authorization', `Bearer ${holder.token}`] as const, ['proctor-claim', ticket] as const];
    return send(at, 'GET', `/v1/blobs/${digest.slice('sha256:'.length)}`, headers);
  };
  expect((await get(script.digest)).status).toBe(200);
  expect(await get(other.digest)).toMatchObject({ status: 403, code: 'not_your_claim' });
  if (claim) await holder.queue.settle([reported(claim)]);
  expect((await get(script.digest)).status).toBe(403);
});

test('refuses a blob with another digest, and keeps nothing of it', async () => {
  const { at, holder, ticket } = await rivals();
  const name = bytesHash('expected').slice('sha256:'.length);
  const headers = [
    ['authorization', `Bearer ${holder.token}`],
    ['proctor-claim', ticket],
  ] as const;
  const { status, code } = await send(at, 'PUT', `/v1/blobs/${name}`, headers, 'other bytes');
  expect([status, code]).toEqual([422, 'blob_mismatch']);
});

test('knows the claim of a worker after a restart of the server', async () => {
  const { at, queue, holder, claim, ticket, ask } = await rivals();
  await at.stop();
  const again = await workerWorld({ queue }, at.cwd);
  const { token } = remoteWorker(again.at, holder.token);
  const beat = await send(again.at, 'POST', '/v1/beats', [['authorization', `Bearer ${token}`]], { tickets: [ticket] });
  expect([beat.status, beat.value]).toEqual([200, { lost: [] }]);
  await expect(ask(token, 'POST', '/v1/beats', { tickets: [ticket] })).rejects.toThrow();
  const end = { ticket, is: 'reported', text: 'made' };
  const body = { settlements: [end] };
  const settled = await send(again.at, 'POST', '/v1/settlements', [['authorization', `Bearer ${token}`]], body);
  expect(settled.value).toEqual({ taken: [claim.id] });
  expect((await queue.outcomes(['run/a/1'], NOW)).get('run/a/1')).toMatchObject({ is: 'reported', report: 'made' });
});

test('names the token of a worker in the queue', async () => {
  const { queue } = await rivals();
  const { workers } = await queue.overview();
  expect(workers[0]?.worker).toMatch(/^w1@tok_[0-9a-f]{16}$/);
});

test('hands an attempt back whose worker went away while it waited', async () => {
  const memory = new MemoryQueue();
  const stop = new AbortController();
  const handed: string[] = [];
  const slow: Queue = Object.assign(Object.create(memory) as Queue, {
    claim: async (
      offer: WorkerOffer,
      free: number,
      { waitMs, signal }: QueueWait,
    ): Promise<readonly AttemptClaim[]> => {
      const claims = await memory.claim(offer, free, { waitMs });
      if (claims.length > 0) {
        stop.abort();
        // The server has seen that the connection is closed.
        await expect.poll(() => signal?.aborted).toBe(true);
      }
      return claims;
    },
    settle: async (settlements: Parameters<Queue['settle']>[0]) => {
      handed.push(...settlements.map(({ end }) => end.is));
      return memory.settle(settlements);
    },
    outcomes: memory.outcomes.bind(memory),
    overview: memory.overview.bind(memory),
    close: memory.close.bind(memory),
  });
  const { worker } = await workerWorld({ queue: slow });
  const { queue } = await worker('w1');
  await memory.offer([request('a')]);
  const claims = await queue.claim(OFFER, 1, { waitMs: 20_000, signal: stop.signal });
  expect(claims).toEqual([]);
  await expect.poll(() => handed).toEqual(['handed_back']);
});

test('many waiting workers ask the queue at most three times at once, and while there is no work only once', async () => {
  const memory = new MemoryQueue();
  let open = 0;
  let most = 0;
  const counted: Queue = Object.assign(Object.create(memory) as Queue, {
    claim: async (...words: Parameters<Queue['claim']>) => {
      most = Math.max(most, ++open);
      try {
        return await memory.claim(...words);
      } finally {
        open--;
      }
    },
    overview: memory.overview.bind(memory),
    close: memory.close.bind(memory),
  });
  const { worker } = await workerWorld({ queue: counted });
  const { queue } = await worker('w');
  const stop = new AbortController();
  const waiting = Array.from({ length: 50 }, (_, index) =>
    queue.claim({ ...OFFER, worker: `w${index}` }, 1, { waitMs: 20_000, signal: stop.signal }),
  );
  await expect.poll(async () => (await memory.overview()).workers).toHaveLength(50);
  await expect.poll(() => open).toBe(1);
  await memory.offer(Array.from({ length: 50 }, (_, index) => request(`c${index}`)));
  const claims = (await Promise.all(waiting)).flat();
  stop.abort();
  expect(new Set(claims.map(({ request: { key } }) => key)).size).toBe(50);
  expect(most).toBeLessThanOrEqual(3);
});

test('readyz reports an unreachable queue', async () => {
  const memory = new MemoryQueue();
  let isDown = false;
  const flaky: Queue = Object.assign(Object.create(memory) as Queue, {
    overview: () => (isDown ? Promise.reject(new Error('down')) : memory.overview()),
    close: memory.close.bind(memory),
  });
  const { at } = await workerWorld({ queue: flaky });
  expect((await send(at, 'GET', '/readyz')).status).toBe(200);
  isDown = true;
  await expect.poll(async () => (await send(at, 'GET', '/readyz')).code, { timeout: 10_000 }).toBe('queue_unavailable');
});

test('logs an outage of the queue in one line without a stack, and its end in another', async () => {
  const memory = new MemoryQueue();
  const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:5432'), { code: 'ECONNREFUSED' });
  let isDown = true;
  const flaky: Queue = Object.assign(Object.create(memory) as Queue, {
    claim: (...asked: Parameters<Queue['claim']>) =>
      isDown
        ? Promise.reject(new Fault('queue_unavailable', 'PostgreSQL does not answer.', { cause: refused }))
        : memory.claim(...asked),
    close: memory.close.bind(memory),
  });
  const { at, worker } = await workerWorld({ queue: flaky });
  const { queue } = await worker('w1');
  const lines = () => at.log.map(line => JSON.parse(line) as Record<string, unknown>).slice(1);
  for (let count = 0; count < 3; count++) await expect(queue.claim(OFFER, 1, NOW)).rejects.toThrow(/cannot reach/);
  const began = { at: expect.any(String) as string, event: 'queue_unreachable', reason: 'ECONNREFUSED' };
  const message = expect.stringMatching(/^The queue cannot be reached\. Check that PostgreSQL runs\./) as string;
  expect(lines()).toEqual([{ ...began, message }]);
  isDown = false;
  await queue.claim(OFFER, 1, NOW);
  await queue.claim(OFFER, 1, NOW);
  expect(lines()).toMatchObject([began, { event: 'queue_reachable', refused_requests: 3 }]);
  expect(at.log.join('')).not.toMatch(/detail|node:|:5432/);
  isDown = true;
  await expect(queue.claim(OFFER, 1, NOW)).rejects.toThrow(/cannot reach/);
  expect(lines()).toMatchObject([began, { event: 'queue_reachable' }, { event: 'queue_unreachable' }]);
});

test('tells a worker that the database is down, so that it goes on; but not if the network is cut', async () => {
  const memory = new MemoryQueue();
  let code = 'ECONNREFUSED';
  const down: Queue = Object.assign(Object.create(memory) as Queue, {
    claim: memory.claim.bind(memory),
    beat: () => Promise.reject(new Fault('queue_unavailable', 'away', { cause: Object.assign(new Error(), { code }) })),
    close: memory.close.bind(memory),
  });
  const { worker } = await workerWorld({ queue: down });
  const { queue } = await worker('w1');
  await memory.offer([request('a')]);
  const claims = await queue.claim(OFFER, 1, NOW);
  const fault = async (): Promise<unknown> => queue.beat(claims).catch((error: unknown) => error);
  expect(await fault()).toMatchObject({ code: 'queue_unavailable' });
  expect(isDatabaseDown(await fault())).toBe(true);
  code = 'ETIMEDOUT';
  expect(await fault()).toMatchObject({ code: 'queue_unavailable' });
  expect(isDatabaseDown(await fault())).toBe(false);
});
