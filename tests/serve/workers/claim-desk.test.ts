/** How many workers may wait at a server. */
import prometheus from 'prom-client';
import { expect, onTestFinished, test } from 'vitest';
import { MemoryQueue } from '../../../src/queue/memory.ts';
import type { AttemptClaim, WorkerOffer } from '../../../src/queue/queue.ts';
import { TeamMetrics } from '../../../src/serve/operation/team-metrics.ts';
import { ClaimDesk } from '../../../src/serve/workers/claim-desk.ts';
import { request } from '../../conformance/queue.ts';

const OFFER: Omit<WorkerOffer, 'worker'> = { protocols: [1], needs: ['http'], slots: 1, version: '0.0.0' };
const WAITING_MAX = 2_000;

/** Workers that wait until they get an attempt, go away, or the desk closes. */
function waitingAt(desk: ClaimDesk, names: readonly string[]) {
  const waiters = names.map(worker => {
    const gone = new AbortController();
    return { gone, answer: desk.claim({ ...OFFER, worker }, 1, { waitMs: 600_000, signal: gone.signal }) };
  });
  return {
    answers: Promise.all(waiters.map(({ answer }) => answer)),
    leave: () => {
      for (const { gone } of waiters) gone.abort();
    },
  };
}

function namesOf(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index}`);
}

function keysIn(claims: readonly (readonly AttemptClaim[])[]): string[] {
  return claims.flat().map(({ request: { key } }) => key);
}

test('workers that allow different scripts wait at the same time, and each gets its own', async () => {
  const queue = new MemoryQueue();
  const desk = new ClaimDesk(queue, new TeamMetrics(new prometheus.Registry()));
  onTestFinished(() => desk.close());
  const sha256s = ['a', 'b'].map(digit => `sha256:${digit.repeat(64)}`);
  const answers = sha256s.map((sha256, index) => {
    const scripts = { digests: [sha256], isAny: false, network: 'open' as const };
    return desk.claim({ ...OFFER, worker: `w${index}`, scripts }, 1, { waitMs: 600_000 });
  });
  await queue.offer(sha256s.map((sha256, index) => request(`c${index}`, { script: { sha256, network: 'blocked' } })));
  expect((await Promise.all(answers)).map(claims => keysIn([claims]))).toEqual([['run/c0/1'], ['run/c1/1']]);
});

test('2,000 workers wait, one more is refused, and a worker that goes away frees its place', async () => {
  const queue = new MemoryQueue();
  const desk = new ClaimDesk(queue, new TeamMetrics(new prometheus.Registry()));
  onTestFinished(() => desk.close());
  const [staying, leaving] = [waitingAt(desk, namesOf('stays', 1_500)), waitingAt(desk, namesOf('leaves', 500))];
  expect(desk.waiting).toBe(WAITING_MAX);
  const refused = waitingAt(desk, ['late']).answers;
  await expect(refused).rejects.toMatchObject({ code: 'too_many_workers' });
  leaving.leave();
  expect(keysIn(await leaving.answers)).toEqual([]);
  expect(desk.waiting).toBe(1_500);
  const next = waitingAt(desk, namesOf('next', 500));
  expect(desk.waiting).toBe(WAITING_MAX);
  await queue.offer(Array.from({ length: 2_100 }, (_, index) => request(`c${index}`)));
  const keys = [...keysIn(await staying.answers), ...keysIn(await next.answers)];
  expect([keys.length, new Set(keys).size]).toEqual([WAITING_MAX, WAITING_MAX]);
  expect(desk.waiting).toBe(0);
});
