import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { Fault } from '../../src/base/fault.ts';
import { contentHash } from '../../src/base/hash.ts';
import type { CaseArtifact } from '../../src/contracts/artifacts/index.ts';
import { type AttemptQuestion, attemptRequest } from '../../src/contracts/attempt-request/index.ts';
import type { Queue } from '../../src/queue/queue.ts';
import type { Target } from '../../src/run/suite/target.ts';
import { runQueueWorker } from '../../src/verbs/worker.ts';
import { runWorker, type WorkerEvent } from '../../src/work/worker.ts';
import { answersWell, hangs } from '../run/suite/agent.ts';
import { changedQueue, queueWorld, testReporter } from '../run/suite/queue-world.ts';
import { expectValid } from '../run/suite/support.ts';

const unavailable = (code: string) =>
  new Fault('queue_unavailable', 'The queue cannot be reached.', { cause: Object.assign(new Error(code), { code }) });

/** An agent whose first request hangs until its connection closes. */
function hanging() {
  const closed: string[] = [];
  const a: typeof answersWell = (seen, response, times) => {
    response.on('close', () => closed.push(String(seen.headers['idempotency-key'])));
    if (times === 1) hangs(seen, response, times);
    else answersWell(seen, response, times);
  };
  return { behaviours: { a }, closed };
}

describe('a worker', () => {
  test('ends its attempts itself when it cannot beat', async () => {
    const { behaviours, closed } = hanging();
    const { run, worker, agent, queue } = await queueWorld({ ids: ['a'], behaviours, heartbeatMs: 1_500 });
    const cut: Partial<Queue> = { beat: () => Promise.reject(unavailable('ETIMEDOUT')) };
    const running = run();
    // The time to beat counts from the claim, so the attempt must be there when the worker asks.
    await expect.poll(async () => (await queue.overview()).needs[0]?.waiting).toBe(1);
    const { events } = worker({ queue: changedQueue(queue, cut), slots: 1 });
    await expect.poll(() => closed).toContain('r1/a/1');
    expect((await running).runs[0]).toMatchObject({ ok: 1 });
    expect(agent.times('a')).toBe(2);
    expect(events).toContainEqual({ is: 'lost', key: 'r1/a/1', isSpooled: false });
  });

  test('tells of an outage once, and when it is over', async () => {
    const { run, worker, queue } = await queueWorld({ ids: ['a'] });
    let tries = 0;
    const claim: Queue['claim'] = (...words) =>
      ++tries <= 3 ? Promise.reject(unavailable('ECONNREFUSED')) : queue.claim(...words);
    const { events } = worker({ queue: changedQueue(queue, { claim }) });
    expect((await run()).runs[0]).toMatchObject({ ok: 1 });
    expect(tries).toBeGreaterThan(3);
    const told = events.filter(({ is }) => is === 'unreachable' || is === 'reachable').map(({ is }) => is);
    expect(told).toEqual(['unreachable', 'reachable']);
  });

  test('goes on while the database is down, because no conductor can give up its attempts', async () => {
    let answer = (): void => undefined;
    const { run, worker, agent, queue } = await queueWorld({
      ids: ['a'],
      behaviours: { a: (seen, response, times) => void (answer = () => answersWell(seen, response, times)) },
      heartbeatMs: 2_500,
    });
    let beats = 0;
    const down = changedQueue(queue, {
      beat: () => {
        beats++;
        return Promise.reject(unavailable('ECONNREFUSED'));
      },
      supervise: () => Promise.resolve(),
    });
    worker({ queue: down });
    const running = run({ queue: down });
    await expect.poll(() => beats).toBeGreaterThan(5);
    answer();
    expect((await running).runs[0]).toMatchObject({ ok: 1 });
    expect(agent.times('a')).toBe(1);
  });

  test('tries to settle for as long as it beats', async () => {
    const { run, worker, agent, queue } = await queueWorld({ ids: ['a'] });
    let failures = 3;
    const flaky = changedQueue(queue, {
      settle: settlements => (failures-- > 0 ? Promise.reject(unavailable('57P03')) : queue.settle(settlements)),
    });
    worker({ queue: flaky });
    expect((await run()).runs[0]).toMatchObject({ ok: 1 });
    expect(failures).toBeLessThan(0);
    expect(agent.times('a')).toBe(1);
  });

  test('makes an attempt that it waited long for, even if the first beat fails', async () => {
    const { run, worker, agent, queue } = await queueWorld({ ids: ['a'] });
    let failures = 2;
    const slow = changedQueue(queue, {
      async claim(offer, free, wait) {
        const claims = await queue.claim(offer, free, wait);
        if (claims.length > 0) await new Promise(resolve => setTimeout(resolve, 2_100));
        return claims;
      },
      beat: claims => (failures-- > 0 ? Promise.reject(unavailable('ETIMEDOUT')) : queue.beat(claims)),
    });
    const { events } = worker({ queue: slow });
    expect((await run({ lost: 'never' })).runs[0]).toMatchObject({ ok: 1 });
    expect(agent.times('a')).toBe(1);
    expect(events).toContainEqual({ is: 'unreachable', why: 'The queue cannot be reached.' });
  });

  test('forgets attempts that it waited long for and cannot keep, and goes on', async () => {
    const { run, worker, queue } = await queueWorld({ ids: ['a'], heartbeatMs: 3_000 });
    const forgotten: string[] = [];
    const cut = changedQueue(queue, {
      async claim(offer, free, wait) {
        const claims = await queue.claim(offer, free, wait);
        if (claims.length > 0) await new Promise(resolve => setTimeout(resolve, 2_100));
        return claims;
      },
      beat: () => Promise.reject(unavailable('ETIMEDOUT')),
      forget: claims => void forgotten.push(...claims.map(({ request }) => request.key)),
    });
    const late = worker({ queue: cut });
    const running = run();
    await expect.poll(() => forgotten).toContain('r1/a/1');
    late.stop();
    await late.ended;
    worker();
    expect((await running).runs[0]).toMatchObject({ ok: 1 });
  });

  test('keeps an outcome in its spool if the queue gave the attempt up meanwhile, and the run counts only the next', async () => {
    const { run, worker, agent, queue, age, folder } = await queueWorld({ ids: ['a'] });
    let isSettling = false;
    let giveUp = (): void => undefined;
    const givenUp = new Promise<void>(resolve => (giveUp = resolve));
    const late = worker({
      name: 'late',
      slots: 1,
      drainMs: 60_000,
      queue: changedQueue(queue, {
        // The worker is cut off, and its claim is still good by its own clock.
        beat: () => new Promise(() => undefined),
        async settle(settlements) {
          isSettling = true;
          await givenUp;
          return queue.settle(settlements);
        },
      }),
    });
    const running = run();
    await expect.poll(() => isSettling).toBe(true);
    late.stop();
    age();
    const key = 'r1/a/1';
    await expect.poll(async () => (await queue.outcomes([key], { waitMs: 0 })).get(key)?.is).toBe('lost');
    giveUp();
    await late.ended;
    expect(late.events).toContainEqual({ is: 'lost', key, isSpooled: true });
    const spool = path.join(late.cwd, '.proctor', 'spool');
    const [kept = '', ...others] = readdirSync(spool);
    expect(others).toEqual([]);
    expect(readFileSync(path.join(spool, kept), 'utf8')).toContain('"schema_version":"attempt-report.v1"');
    worker({ name: 'next' });
    expect((await running).runs[0]).toMatchObject({ ok: 1, failed: 0 });
    expect(agent.times('a')).toBe(2);
    const { attempts } = JSON.parse(readFileSync(path.join(folder, 'a.json'), 'utf8')) as CaseArtifact;
    expect(attempts).toMatchObject([
      { worker: 'late', outcome: 'runner_error' },
      { worker: 'next', outcome: 'ok' },
    ]);
    await expectValid(folder);
  });

  test('finishes its attempts after a stop signal, and claims no more', async () => {
    let answer = (): void => undefined;
    const { run, worker, agent, folder } = await queueWorld({
      ids: ['a', 'b'],
      behaviours: { a: (seen, response, times) => void (answer = () => answersWell(seen, response, times)) },
    });
    const first = worker({ slots: 1, name: 'first' });
    const running = run({ concurrency: 2 });
    await expect.poll(() => agent.times('a')).toBe(1);
    first.stop();
    answer();
    await first.ended;
    expect(agent.times('b')).toBe(0);
    worker({ name: 'second' });
    expect((await running).runs[0]).toMatchObject({ ok: 2 });
    expect(agent.times('a')).toBe(1);
    await expectValid(folder);
  });

  test('reports an attempt that takes longer than the drain as stopped, and another worker makes the next', async () => {
    const { behaviours, closed } = hanging();
    const { run, worker, agent, folder } = await queueWorld({ ids: ['a'], behaviours });
    const first = worker({ drainMs: 20 });
    const running = run();
    await expect.poll(() => agent.times('a')).toBe(1);
    first.stop();
    await first.ended;
    expect(closed).toEqual(['r1/a/1']);
    worker();
    expect((await running).runs[0]).toMatchObject({ ok: 1 });
    await expectValid(folder);
  });

  test('hands an attempt back that its machine cannot make, stops claiming such attempts, and says why', async () => {
    const { run, worker, agent, queue } = await queueWorld({ ids: ['a'] });
    const running = run();
    const broken = runWorker({
      queue,
      needs: ['http'],
      slots: 1,
      reporter: testReporter(),
      makeTarget: () => Promise.reject(new Fault('disk_full', 'The disk is full.')),
      spool: { keep: () => false },
      drainMs: 1_000,
      signal: new AbortController().signal,
    });
    await expect(broken).rejects.toThrow('The worker can no longer make attempts: The disk is full.');
    worker();
    expect((await running).runs[0]).toMatchObject({ ok: 1 });
    expect(agent.seen.map(({ headers }) => headers['idempotency-key'])).toEqual(['r1/a/1']);
  });

  test('goes on with other attempts if its machine cannot make those with one need', async () => {
    const { queue, baseUrl } = await queueWorld();
    const stop = new AbortController();
    const events: WorkerEvent[] = [];
    const answered: Target = {
      ask: async () => ({ latencyMs: 1, outcome: { ok: false, class: 'other', message: 'Asked.', mayRetry: false } }),
      cancel: () => undefined,
      close: async () => undefined,
    };
    const running = runWorker({
      queue,
      needs: ['http', 'http+TOKEN'],
      slots: 1,
      reporter: testReporter(),
      makeTarget: async ({ secret_names: names }) => {
        if (names.length > 0) throw new Fault('disk_full', 'The disk is full.');
        return answered;
      },
      spool: { keep: () => false },
      drainMs: 1_000,
      signal: stop.signal,
      onEvent: event => events.push(event),
    });
    await offered(queue, baseUrl, 'a', {}, {}, ['TOKEN']);
    await expect.poll(() => events).toContainEqual({ is: 'unable', needs: 'http+TOKEN', why: 'The disk is full.' });
    await offered(queue, baseUrl, 'b', {}, {}, ['TOKEN']);
    await offered(queue, baseUrl, 'c', {});
    await expect.poll(() => events).toContainEqual({ is: 'settled', key: 'r1/c/1', end: 'reported' });
    stop.abort();
    await running;
    expect(events).toContainEqual({ is: 'settled', key: 'r1/a/1', end: 'handed_back' });
    expect(events).not.toContainEqual({ is: 'claimed', key: 'r1/b/1' });
  });

  test('hands an attempt back with a reason that the queue can hold, whatever a request made of it', async () => {
    const { queue, baseUrl } = await queueWorld();
    await offered(queue, baseUrl, 'a', {});
    const stop = new AbortController();
    const running = runWorker({
      queue,
      needs: ['http'],
      slots: 1,
      reporter: testReporter(),
      makeTarget: () => Promise.reject(new Fault('not_offered', `Not \0 offered: ${'x'.repeat(100_000)}`)),
      spool: { keep: () => false },
      drainMs: 1_000,
      signal: stop.signal,
    });
    const key = 'r1/a/1';
    await expect.poll(async () => (await queue.outcomes([key], { waitMs: 0 })).get(key)?.is).toBe('handed_back');
    const outcome = (await queue.outcomes([key], { waitMs: 0 })).get(key);
    const { why = '' } = outcome as { why?: string };
    expect([why.slice(0, 30), why.length]).toEqual(['Not \\u{0} offered: xxxxxxxxxxx', 2_048]);
    stop.abort();
    await running;
  });

  test('asks only the origins that it may', async () => {
    const { run, worker, agent, queue } = await queueWorld({ ids: ['a'] });
    const { events } = worker({ allowTargets: ['https://agent.example'] });
    const stop = new AbortController();
    const running = run({ signal: stop.signal });
    await expect.poll(() => events).toContainEqual({ is: 'settled', key: 'r1/a/1', end: 'handed_back' });
    stop.abort();
    await running;
    expect(agent.seen).toEqual([]);
    expect((await queue.overview()).needs).toMatchObject([{ needs: 'http', workers: 1 }]);
  });

  test('does not start with secrets that requests could have it send to any address', async () => {
    const { queue } = await queueWorld();
    const started = runQueueWorker({ queue, secrets: { AGENT_TOKEN: 'tok-7f3a9b2c4d5e6f70' } });
    await expect(started).rejects.toThrow('A worker with secrets needs --allow-target');
  });

  test('refuses a declared target that sets the host, because it would lead around --allow-target', async () => {
    const { worker, agent, queue, baseUrl } = await queueWorld();
    const { events } = worker({ allowTargets: [new URL(baseUrl).origin] });
    const offer = (id: string, headers: Readonly<Record<string, string>>) => offered(queue, baseUrl, id, headers);
    await offer('a', { host: 'other.example' });
    await offer('b', { 'x-team': 'one' });
    await expect.poll(() => events).toContainEqual({ is: 'settled', key: 'r1/b/1', end: 'reported' });
    await expect.poll(() => events).toContainEqual({ is: 'settled', key: 'r1/a/1', end: 'handed_back' });
    expect(agent.seen.map(({ headers }) => headers['idempotency-key'])).toEqual(['r1/b/1']);
  });

  test('refuses settings that no suite can have, such as answers of any size', async () => {
    const { worker, agent, queue, baseUrl } = await queueWorld();
    const { events } = worker();
    await offered(queue, baseUrl, 'a', {}, { max_body_bytes: 2 ** 40 });
    await offered(queue, baseUrl, 'b', {}, { max_body_bytes: 8 * 1024 ** 2 });
    await expect.poll(() => events).toContainEqual({ is: 'settled', key: 'r1/b/1', end: 'reported' });
    await expect.poll(() => events).toContainEqual({ is: 'settled', key: 'r1/a/1', end: 'handed_back' });
    expect(agent.seen.map(({ headers }) => headers['idempotency-key'])).toEqual(['r1/b/1']);
  });

  test('refuses a request that breaks its rules, and sends nothing', async () => {
    const { worker, agent, queue, baseUrl } = await queueWorld();
    const { events } = worker();
    const ask = JSON.stringify({ schema_version: 'attempt-request.v1', target: { kind: 'http', url: baseUrl } });
    await queue.offer([
      { key: 'r1/a/1', runId: 'r1', protocol: 1, needs: 'http', priority: 0, timeoutMs: 10_000, ask },
    ]);
    await expect.poll(() => events).toContainEqual({ is: 'settled', key: 'r1/a/1', end: 'handed_back' });
    expect(agent.seen).toEqual([]);
  });
});

/** Offers an attempt at a declared target, as anyone can who may write to the queue. */
async function offered(
  queue: Queue,
  url: string,
  id: string,
  headers: Readonly<Record<string, string>>,
  settings: object = {},
  secrets: readonly string[] = [],
) {
  const target = {
    kind: 'declared',
    name: 'agent',
    replies: 'lenient',
    declaration: { schema_version: 'target.v1', kind: 'proctor', url, headers },
  };
  const key = `r1/${id}/1`;
  const example = attemptRequest.example as AttemptQuestion;
  const ask = JSON.stringify({
    ...example,
    settings: { ...example.settings, ...settings },
    ...{
      key,
      run_id: 'r1',
      attempt: 1,
      target,
      target_sha256: contentHash(target),
      headers: [],
      secret_names: secrets,
    },
    case: { schema_version: 'suite-case.v1', id, input: { user: id } },
  });
  const needs = ['http', ...secrets].join('+');
  await queue.offer([{ key, runId: 'r1', protocol: 1, needs, priority: 0, timeoutMs: 10_000, ask }]);
}
