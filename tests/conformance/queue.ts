/** What every queue does. Each implementation calls this with a way to make an empty queue. */
import { afterEach, describe, expect, test } from 'vitest';
import type { AttemptClaim, AttemptRequest, Queue, Settlement, WorkerOffer } from '../../src/queue/queue.ts';

export interface QueueUnderTest {
  readonly queue: Queue;
  /** Makes the queue believe that this much time has passed since every beat and beginning so far. */
  readonly age: (ms: number) => Promise<void>;
}

export const HEARTBEAT_MS = 10_000;
const DAY_MS = 86_400_000;
const NOW = { waitMs: 0 };
const WORKER: WorkerOffer = { worker: 'w1', protocols: [1], needs: ['http'], slots: 8, version: '0.0.0' };

export function request(id: string, changes: Partial<AttemptRequest> = {}): AttemptRequest {
  const runId = changes.runId ?? 'run';
  const fixed = { runId, protocol: 1, needs: 'http', priority: 0, timeoutMs: 60_000, ask: `{"case":"${id}"}` };
  return { key: `${runId}/${id}/1`, ...fixed, ...changes };
}

export function reported(claim: AttemptClaim, report = `report of ${claim.request.key}`): Settlement {
  return { claim, end: { is: 'reported', report } };
}

/** Offers its attempts as a conductor does: at most a window of them at once. */
class WindowedRun {
  readonly #runId: string;
  readonly #attempts: number;
  #offered = 0;
  #ended = 0;

  constructor(runId: string, attempts: number) {
    this.#runId = runId;
    this.#attempts = attempts;
  }

  get isOver(): boolean {
    return this.#ended === this.#attempts;
  }

  note(claims: readonly AttemptClaim[]): void {
    this.#ended += claims.filter(({ request }) => request.runId === this.#runId).length;
  }

  async fill(queue: Queue): Promise<void> {
    const end = Math.min(this.#attempts, this.#ended + WINDOW);
    const fresh = Array.from({ length: end - this.#offered }, (_, index) =>
      request(`c${this.#offered + index}`, { runId: this.#runId }),
    );
    this.#offered = end;
    if (fresh.length > 0) await queue.offer(fresh);
  }
}

const WINDOW = 8;

const keysOf = (claims: readonly AttemptClaim[]): string[] => claims.map(({ request }) => request.key);

export function queueConformance(name: string, make: () => Promise<QueueUnderTest>): void {
  describe(`a queue: ${name}`, () => {
    const open: Queue[] = [];
    afterEach(async () => {
      await Promise.all(open.splice(0).map(queue => queue.close()));
    });
    const made = async (): Promise<QueueUnderTest> => {
      const under = await make();
      open.push(under.queue);
      return under;
    };

    test('delivers what was offered, as it was offered', async () => {
      const { queue } = await made();
      const ask = '{"text":"ä€😀 \\u0000 \\\\ \' \\n","z":1,"a":[]}';
      const offered = request('a', {
        ask,
        needs: 'agent/claude/sha256:ab+c=d@e',
        trace: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
        slots: { target: 'https://api.example/v1 "x"', max: 4 },
      });
      await queue.offer([offered]);
      const [claim] = await queue.claim({ ...WORKER, needs: [offered.needs] }, 8, NOW);
      expect(claim).toMatchObject({ request: offered, worker: 'w1', beatWithinMs: HEARTBEAT_MS });
      expect(claim?.request.ask).toBe(ask);
    });

    test('gives an attempt to one worker only, and reports its outcome', async () => {
      const { queue } = await made();
      await queue.offer([request('a'), request('b')]);
      const claims = await queue.claim(WORKER, 8, NOW);
      expect(keysOf(claims).sort()).toEqual(['run/a/1', 'run/b/1']);
      expect(await queue.claim({ ...WORKER, worker: 'w2' }, 8, NOW)).toEqual([]);
      expect(await queue.settle(claims.map(claim => reported(claim)))).toHaveLength(2);
      const outcomes = await queue.outcomes(['run/a/1', 'run/b/1', 'run/c/1'], NOW);
      expect([...outcomes.keys()].sort()).toEqual(['run/a/1', 'run/b/1']);
      expect(outcomes.get('run/a/1')).toMatchObject({ is: 'reported', report: 'report of run/a/1', worker: 'w1' });
    });

    test('claims at most as many as there are free slots', async () => {
      const { queue } = await made();
      await queue.offer(Array.from({ length: 10 }, (_, index) => request(`c${index}`)));
      expect(await queue.claim(WORKER, 3, NOW)).toHaveLength(3);
      expect(await queue.claim(WORKER, 100, NOW)).toHaveLength(7);
    });

    test('offers the same key once, before, during and after the attempt', async () => {
      const { queue } = await made();
      await queue.offer([request('a'), request('a')]);
      await queue.offer([request('a')]);
      const claims = await queue.claim(WORKER, 8, NOW);
      expect(claims).toHaveLength(1);
      await queue.offer([request('a')]);
      expect(await queue.claim(WORKER, 8, NOW)).toEqual([]);
      await queue.settle(claims.map(claim => reported(claim)));
      await queue.offer([request('a')]);
      expect(await queue.claim(WORKER, 8, NOW)).toEqual([]);
      expect((await queue.outcomes(['run/a/1'], NOW)).get('run/a/1')).toMatchObject({ is: 'reported' });
    });

    test('gives a worker only what it offers: its needs and its protocols', async () => {
      const { queue } = await made();
      await queue.offer([request('a', { needs: 'script/strict' }), request('b', { protocol: 2 }), request('c')]);
      expect(keysOf(await queue.claim(WORKER, 8, NOW))).toEqual(['run/c/1']);
      expect(keysOf(await queue.claim({ ...WORKER, protocols: [2, 3] }, 8, NOW))).toEqual(['run/b/1']);
      expect(keysOf(await queue.claim({ ...WORKER, needs: ['script/strict'] }, 8, NOW))).toEqual(['run/a/1']);
    });

    test('gives a script only to workers that allow it, also behind one that they do not allow', async () => {
      const { queue } = await made();
      const needs = 'script/process/strict';
      const [one, other] = ['a', 'b'].map(digit => ({
        sha256: `sha256:${digit.repeat(64)}`,
        network: 'blocked' as const,
      }));
      const open = { sha256: `sha256:${'c'.repeat(64)}`, network: 'open' as const };
      const offers = (digests: readonly string[], isAny = false, network: 'blocked' | 'open' = 'open') => ({
        ...WORKER,
        needs: [needs, `${needs}+TOKEN`],
        keyId: `sha256:${'d'.repeat(64)}`,
        scripts: { digests, isAny, network },
      });
      const claimed = async (worker: WorkerOffer, free = 8) => keysOf(await queue.claim(worker, free, NOW)).sort();
      const offer = (id: string, script: AttemptRequest['script'], changes: Partial<AttemptRequest> = {}) =>
        queue.offer([request(id, { needs, ...(script && { script }), ...changes })]);
      for (let index = 0; index < 5; index++) await offer(`other${index}`, other);
      await offer('one', one);
      await offer('secret', other, { needs: `${needs}+TOKEN` });
      await offer('open', open);
      await offer('unnamed', undefined);
      expect(await claimed(offers([one?.sha256 ?? '']), 1)).toEqual(['run/one/1']);
      expect(await claimed(offers([open.sha256], false, 'blocked'), 1)).toEqual(['run/unnamed/1']);
      expect(await claimed(offers([open.sha256], false, 'blocked'))).toEqual([]);
      expect(await claimed(offers([open.sha256]))).toEqual(['run/open/1']);
      expect(await claimed(offers([], true), 2)).toHaveLength(2);
      expect(await claimed(offers([], true))).toHaveLength(3);
      expect(await claimed(offers([], true))).toEqual([]);
      expect(await claimed(offers([other?.sha256 ?? '']))).toEqual(['run/secret/1']);
    });

    test('limits a script by its bytes, and keeps it from workers that do not allow it', async () => {
      const { queue } = await made();
      const needs = 'script/process/strict';
      const sha256s = ['a', 'b'].map(digit => `sha256:${digit.repeat(64)}`);
      const worker = (index: number) => ({
        ...WORKER,
        needs: [needs],
        scripts: { digests: [sha256s[index] ?? ''], isAny: false, network: 'open' as const },
      });
      const slots = { target: 'agent.py', max: 1 } as const;
      for (const [index, sha256] of sha256s.entries())
        for (const id of [`a${index}`, `b${index}`])
          await queue.offer([request(id, { needs, slots, script: { sha256, network: 'blocked' } })]);
      expect(await queue.claim(worker(0), 8, NOW)).toHaveLength(1);
      expect(await queue.claim(worker(0), 8, NOW)).toHaveLength(0);
      expect(await queue.claim(worker(1), 8, NOW)).toHaveLength(1);
    });

    test('shows each script that waits, and how many workers allow it', async () => {
      const { queue } = await made();
      const needs = 'script/process/strict+TOKEN';
      const sha256 = `sha256:${'a'.repeat(64)}`;
      await queue.offer([request('a', { needs, script: { sha256, network: 'blocked' } })]);
      const worker = { ...WORKER, needs: [needs] };
      const scripts = { digests: [] as string[], isAny: true, network: 'open' } as const;
      await queue.claim({ ...worker, worker: 'w2', scripts }, 8, NOW);
      const shown = `script/process/strict/${sha256}+TOKEN`;
      const row = async () => (await queue.overview()).needs.find(one => one.needs === shown);
      expect(await row()).toMatchObject({ waiting: 1, active: 0, workers: 0 });
      await queue.claim({ ...worker, scripts: { ...scripts, digests: [sha256] } }, 8, NOW);
      expect(await row()).toMatchObject({ waiting: 0, active: 1, workers: 1 });
    });

    test('keeps an attempt from workers with the key that made it before', async () => {
      const { queue } = await made();
      const [first, other] = ['a', 'b'].map(digit => `sha256:${digit.repeat(64)}`) as [string, string];
      await queue.offer([
        request('a', { key: 'run/a/1/1', notBy: first }),
        request('b', { key: 'run/b/1/1', notBy: first }),
        request('c', { key: 'run/c/1/1', notBy: other }),
      ]);
      expect(keysOf(await queue.claim({ ...WORKER, keyId: first }, 8, NOW))).toEqual(['run/c/1/1']);
      const claims = await queue.claim({ ...WORKER, worker: 'w2', keyId: other }, 8, NOW);
      expect(keysOf(claims).sort()).toEqual(['run/a/1/1', 'run/b/1/1']);
      expect(await queue.settle(claims.map(claim => reported(claim)))).toHaveLength(2);
    });

    test('delivers urgent attempts first, even among several kinds of work', async () => {
      const { queue } = await made();
      await queue.offer([request('low', { priority: -5 })]);
      await queue.offer([request('first')]);
      await queue.offer([request('high', { priority: 10, needs: 'script' })]);
      await queue.offer([request('second')]);
      const order: string[] = [];
      for (let index = 0; index < 4; index++) {
        order.push(...keysOf(await queue.claim({ ...WORKER, needs: ['http', 'script'] }, 1, NOW)));
      }
      expect(order).toEqual(['run/high/1', 'run/first/1', 'run/second/1', 'run/low/1']);
    });

    test('shares its workers between runs that offer no more than a window, however much one has left', async () => {
      const { queue } = await made();
      const [first, second] = [new WindowedRun('first', 400), new WindowedRun('second', 40)];
      await first.fill(queue);
      const order: string[] = [];
      while (!second.isOver) {
        const claims = await queue.claim(WORKER, 4, NOW);
        await queue.settle(claims.map(claim => reported(claim)));
        for (const { request } of claims) order.push(request.runId);
        // The second run starts behind the first.
        for (const run of order.length >= 20 ? [first, second] : [first]) {
          run.note(claims);
          await run.fill(queue);
        }
      }
      const both = order.slice(order.indexOf('second'), order.lastIndexOf('second') + 1);
      expect(both.filter(run => run === 'second')).toHaveLength(40);
      expect(40 / both.length).toBeGreaterThanOrEqual(0.4);
      expect(40 / both.length).toBeLessThanOrEqual(0.6);
      expect(first.isOver).toBe(false);
    });

    test('keeps the limit of a target over all workers, and lets others pass', async () => {
      const { queue } = await made();
      const slots = { target: 'api', max: 2 } as const;
      await queue.offer(Array.from({ length: 6 }, (_, index) => request(`c${index}`, { slots })));
      await queue.offer([request('other', { slots: { target: 'other', max: 1 } }), request('free')]);
      const first = [
        ...(await queue.claim(WORKER, 8, NOW)),
        ...(await queue.claim({ ...WORKER, worker: 'w2' }, 8, NOW)),
      ];
      const ofApi = first.filter(claim => claim.request.slots?.target === 'api');
      expect(ofApi).toHaveLength(2);
      expect(first).toHaveLength(4);
      await queue.settle(ofApi.slice(0, 1).map(claim => reported(claim)));
      expect(await queue.claim(WORKER, 8, NOW)).toHaveLength(1);
    });

    test('accepts a repeated settlement, and refuses one of another claim', async () => {
      const { queue } = await made();
      await queue.offer([request('a')]);
      const [claim] = await queue.claim(WORKER, 8, NOW);
      if (!claim) throw new Error('There is no claim.');
      expect(await queue.settle([reported({ ...claim, id: 'x' })])).toEqual([]);
      expect(await queue.settle([reported(claim), reported(claim)])).toEqual(['run/a/1']);
      expect(await queue.settle([reported(claim)])).toEqual(['run/a/1']);
      expect(await queue.beat([claim])).toEqual([claim]);
    });

    test('keeps the first of two ends, also if both come together', async () => {
      const { queue } = await made();
      await queue.offer([request('a'), request('b')]);
      const claims = await queue.claim(WORKER, 8, NOW);
      const again = { is: 'handed_back', why: 'changed its mind' } as const;
      const both = claims.flatMap(claim => [reported(claim), { claim, end: again }]);
      expect((await queue.settle(both)).toSorted()).toEqual(['run/a/1', 'run/b/1']);
      expect(await queue.settle(claims.map(claim => ({ claim, end: again })))).toEqual([]);
      const outcomes = await queue.outcomes(['run/a/1', 'run/b/1'], NOW);
      expect([...outcomes.values()].map(({ is }) => is)).toEqual(['reported', 'reported']);
    });

    test('refuses settlements whose claims are swapped', async () => {
      const { queue } = await made();
      await queue.offer([request('a'), request('b')]);
      const [a, b] = await queue.claim(WORKER, 8, NOW);
      if (!a || !b) throw new Error('There are no claims.');
      expect(await queue.settle([reported({ ...a, id: b.id }), reported({ ...b, id: a.id })])).toEqual([]);
      expect(await queue.settle([reported(a), reported(b)])).toHaveLength(2);
    });

    test('loses an attempt whose worker stops beating, and refuses its late settlement', async () => {
      const { queue, age } = await made();
      await queue.offer([request('dead'), request('alive')]);
      const claims = await queue.claim(WORKER, 8, NOW);
      const alive = claims.filter(({ request }) => request.key === 'run/alive/1');
      const dead = claims.filter(({ request }) => request.key === 'run/dead/1');
      await age(HEARTBEAT_MS + 1000);
      expect(await queue.beat(alive)).toEqual([]);
      await queue.supervise();
      const outcomes = await queue.outcomes(['run/dead/1', 'run/alive/1'], NOW);
      expect([...outcomes.keys()]).toEqual(['run/dead/1']);
      expect(outcomes.get('run/dead/1')).toMatchObject({ is: 'lost', worker: 'w1' });
      expect(await queue.beat(claims)).toEqual(dead);
      expect(await queue.settle(claims.map(claim => reported(claim)))).toEqual(['run/alive/1']);
      expect((await queue.outcomes(['run/dead/1'], NOW)).get('run/dead/1')).toMatchObject({ is: 'lost' });
      await queue.offer([request('dead')]);
      expect(await queue.claim(WORKER, 8, NOW)).toEqual([]);
    });

    test('loses an attempt that exceeds its time, even if its worker beats', async () => {
      const { queue, age } = await made();
      await queue.offer([request('slow', { timeoutMs: 20_000 })]);
      const claims = await queue.claim(WORKER, 8, NOW);
      await age(21_000);
      expect(await queue.beat(claims)).toEqual([]);
      await queue.supervise();
      expect((await queue.outcomes(['run/slow/1'], NOW)).get('run/slow/1')).toMatchObject({ is: 'lost' });
      expect(await queue.beat(claims)).toEqual(claims);
    });

    test('delivers an attempt that was handed back only when it is offered again', async () => {
      const { queue } = await made();
      await queue.offer([request('a')]);
      const [claim] = await queue.claim(WORKER, 8, NOW);
      if (!claim) throw new Error('There is no claim.');
      const back: Settlement = { claim, end: { is: 'handed_back', why: 'The disk is full.' } };
      expect(await queue.settle([back])).toEqual(['run/a/1']);
      expect(await queue.claim(WORKER, 8, NOW)).toEqual([]);
      const outcome = (await queue.outcomes(['run/a/1'], NOW)).get('run/a/1');
      expect(outcome).toMatchObject({ is: 'handed_back', why: 'The disk is full.' });
      await queue.offer([request('a')]);
      expect((await queue.outcomes(['run/a/1'], NOW)).size).toBe(0);
      const again = await queue.claim({ ...WORKER, worker: 'w2' }, 8, NOW);
      expect(keysOf(again)).toEqual(['run/a/1']);
      // The first worker repeats its settlement, because the answer was lost.
      await queue.settle([back]);
      expect(await queue.beat([claim])).toEqual([claim]);
      expect(await queue.beat(again)).toEqual([]);
      expect(await queue.settle(again.map(one => reported(one)))).toEqual(['run/a/1']);
    });

    test('withdraws the attempts of one run: waiting ones vanish, active ones are taken away', async () => {
      const { queue } = await made();
      await queue.offer([request('a'), request('z', { runId: 'other' })]);
      const claims = await queue.claim(WORKER, 8, NOW);
      await queue.offer([request('b')]);
      const told: string[] = [];
      const stop = queue.onWithdrawn(runId => told.push(runId));
      await queue.withdraw('run');
      await expect.poll(() => told).toContain('run');
      stop();
      expect(keysOf(await queue.beat(claims))).toEqual(['run/a/1']);
      expect(await queue.settle(claims.map(claim => reported(claim)))).toEqual(['other/z/1']);
      expect(await queue.claim(WORKER, 8, NOW)).toEqual([]);
      const outcomes = await queue.outcomes(['run/a/1', 'run/b/1'], NOW);
      expect([...outcomes.keys()]).toEqual(['run/a/1']);
      expect(outcomes.get('run/a/1')).toMatchObject({ is: 'withdrawn', worker: 'w1' });
      // A resumed run may offer what never began.
      await queue.offer([request('a'), request('b')]);
      expect(keysOf(await queue.claim(WORKER, 8, NOW))).toEqual(['run/b/1']);
    });

    test('says when attempts began, also after they ended, but not of those that were handed back', async () => {
      const { queue } = await made();
      await queue.offer([request('a'), request('b'), request('c')]);
      const claims = await queue.claim(WORKER, 3, NOW);
      await queue.offer([request('d')]);
      const keys = ['run/a/1', 'run/b/1', 'run/c/1', 'run/d/1', 'run/e/1'];
      const begun = await queue.begun(keys);
      expect([...begun.keys()].sort()).toEqual(['run/a/1', 'run/b/1', 'run/c/1']);
      for (const {
        request: { key },
        begunAtMs,
      } of claims)
        expect(begun.get(key)).toBe(begunAtMs);
      const [a, b] = ['run/a/1', 'run/b/1'].map(key => claims.find(one => one.request.key === key)) as AttemptClaim[];
      await queue.settle([
        reported(a as AttemptClaim),
        { claim: b as AttemptClaim, end: { is: 'handed_back', why: 'no' } },
      ]);
      expect([...(await queue.begun(keys)).keys()].sort()).toEqual(['run/a/1', 'run/c/1']);
    });

    test('wakes a waiting worker and a waiting conductor', async () => {
      const { queue } = await made();
      const waiting = queue.claim(WORKER, 8, { waitMs: 60_000 });
      await queue.offer([request('a')]);
      const claims = await waiting;
      expect(keysOf(claims)).toEqual(['run/a/1']);
      const outcomes = queue.outcomes(['run/a/1'], { waitMs: 60_000 });
      await queue.settle(claims.map(claim => reported(claim)));
      expect((await outcomes).size).toBe(1);
    });

    test('stops waiting when the signal aborts', async () => {
      const { queue } = await made();
      const stop = new AbortController();
      const waiting = [
        queue.claim(WORKER, 8, { waitMs: 600_000, signal: stop.signal }),
        queue.outcomes(['run/a/1'], { waitMs: 600_000, signal: stop.signal }),
      ];
      stop.abort();
      await Promise.all(waiting);
    });

    test('shows what waits, what is active, and the workers', async () => {
      const { queue, age } = await made();
      await queue.offer([request('a'), request('b'), request('c', { slots: { target: 't', max: 1 } })]);
      await queue.offer([request('d', { needs: 'agent/claude/sha256:00' })]);
      const claims = await queue.claim(WORKER, 1, NOW);
      const shown = await queue.overview();
      expect(shown.needs).toEqual([
        {
          needs: 'agent/claude/sha256:00',
          waiting: 1,
          active: 0,
          oldestWaitingMs: expect.any(Number) as number,
          workers: 0,
        },
        { needs: 'http', waiting: 2, active: 1, oldestWaitingMs: expect.any(Number) as number, workers: 1 },
      ]);
      expect(shown.workers).toMatchObject([{ worker: 'w1', slots: 8, active: 1, version: '0.0.0' }]);
      expect(shown.lostLastHour).toBe(0);
      await age(HEARTBEAT_MS + 1000);
      await queue.supervise();
      await queue.outcomes(keysOf(claims), NOW);
      expect((await queue.overview()).lostLastHour).toBe(1);
    });

    test('counts a worker as one that offers a need only if it reads every version of the requests that wait', async () => {
      const { queue } = await made();
      await queue.claim(WORKER, 1, NOW);
      const workers = async () => (await queue.overview()).needs[0]?.workers;
      expect(await workers()).toBe(1);
      await queue.offer([request('a'), request('b', { protocol: 2 })]);
      expect(await workers()).toBe(0);
      const claims = await queue.claim({ ...WORKER, worker: 'w2', protocols: [1, 2] }, 2, NOW);
      expect(keysOf(claims)).toEqual(expect.arrayContaining(['run/a/1', 'run/b/1']));
      await queue.offer([request('c', { protocol: 2 })]);
      expect(await workers()).toBe(1);
    });

    test('shows a worker that only beats, and no longer one that is silent', async () => {
      const { queue, age } = await made();
      await queue.offer([request('a', { timeoutMs: 3_600_000 }), request('b')]);
      const claims = await queue.claim(WORKER, 1, NOW);
      await queue.claim({ ...WORKER, worker: 'silent', needs: ['script'] }, 1, NOW);
      await age(61_000);
      await queue.beat(claims);
      expect((await queue.overview()).workers).toMatchObject([{ worker: 'w1', active: 1 }]);
    });

    test('forgets a run only after it was sealed', async () => {
      const { queue } = await made();
      await queue.offer([request('a')]);
      await queue.settle((await queue.claim(WORKER, 8, NOW)).map(claim => reported(claim)));
      await queue.markSealed('run');
      await queue.markSealed('run');
      await queue.supervise();
      expect((await queue.outcomes(['run/a/1'], NOW)).size).toBe(1);
    });

    test('forgets a sealed run after seven days, unless it was offered again since', async () => {
      const { queue, age } = await made();
      for (const runId of ['sealed', 'again']) {
        await queue.offer([request('a', { runId })]);
        await queue.settle((await queue.claim(WORKER, 8, NOW)).map(claim => reported(claim)));
        await queue.markSealed(runId);
      }
      await queue.offer([request('a', { runId: 'again' })]);
      await age(8 * DAY_MS);
      await queue.supervise();
      const keys = ['sealed/a/1', 'again/a/1'];
      expect([...(await queue.outcomes(keys, NOW)).keys()]).toEqual(['again/a/1']);
      expect([...(await queue.begun(keys)).keys()]).toEqual(['again/a/1']);
    });

    test.each<[string, Partial<AttemptRequest>]>([
      ['a key without its run', { key: 'other/a/1' }],
      ['a key with a path', { key: 'run/../1' }],
      ['a document that is too large', { ask: 'x'.repeat(65_537) }],
      ['a document with a NUL character', { ask: 'a\0b' }],
      ['a document with half a character', { ask: '\ud800' }],
      ['a priority out of range', { priority: 11 }],
      ['a limit that is no power of two', { slots: { target: 't', max: 3 as 4 } }],
      ['no needs', { needs: '' }],
      ['needs with a quote', { needs: "http'; drop table" }],
      ['a timeout of more than a day', { timeoutMs: 86_400_001 }],
    ])('refuses a request with %s', async (_, changes) => {
      const { queue } = await made();
      const refused = queue.offer([request('good'), { ...request('a'), ...changes }]);
      await expect(refused).rejects.toMatchObject({ code: 'attempt_request' });
      expect(await queue.claim(WORKER, 8, NOW)).toEqual([]);
    });

    test('refuses a report that is too large, and keeps the claim', async () => {
      const { queue } = await made();
      await queue.offer([request('a')]);
      const claims = await queue.claim(WORKER, 8, NOW);
      const large = queue.settle(claims.map(claim => reported(claim, 'ä'.repeat(32_769))));
      await expect(large).rejects.toMatchObject({ code: 'attempt_settlement' });
      expect(await queue.settle(claims.map(claim => reported(claim, 'ä'.repeat(32_768))))).toEqual(['run/a/1']);
    });
  });
}
