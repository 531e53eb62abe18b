/** How a worker keeps its claims, and when it stops their attempts. */
import { setTimeout as wait } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { monotonicMs } from '../../src/base/clock.ts';
import { MemoryQueue } from '../../src/queue/memory.ts';
import type { AttemptClaim, Queue } from '../../src/queue/queue.ts';
import { HeldClaims } from '../../src/work/held-claims.ts';
import { request } from '../conformance/queue.ts';
import { changedQueue } from '../run/suite/queue-world.ts';
import { workerWorld } from '../serve/worker-world.ts';

const MINUTES_MS = 600_000;

function claim(id: string, beatWithinMs: number): AttemptClaim {
  return { request: request(id), worker: 'w1', id, begunAtMs: 0, beatWithinMs };
}

function heldClaims(over: Partial<Queue>): HeldClaims {
  const claims = new HeldClaims(changedQueue(new MemoryQueue(), over));
  onTestFinished(() => claims.close());
  return claims;
}

/** A queue that keeps every claim, and counts the beats of each. */
function countingBeats() {
  const ids: string[] = [];
  const beat: Queue['beat'] = async claims => {
    ids.push(...claims.map(({ id }) => id));
    return [];
  };
  return { beat, beatsOf: (id: string) => ids.filter(one => one === id).length };
}

test('beats often enough for the shortest heartbeat, whichever claim came first', async () => {
  const { beat, beatsOf } = countingBeats();
  const claims = heldClaims({ beat });
  claims.add(claim('long', MINUTES_MS), monotonicMs());
  claims.add(claim('short', 2_000), monotonicMs());
  await expect.poll(() => beatsOf('short')).toBeGreaterThan(1);
});

test('limits the heartbeat of a queue that states years', async () => {
  const { beat, beatsOf } = countingBeats();
  const claims = heldClaims({ beat });
  const held = claims.add(claim('years', 1e15), monotonicMs());
  await wait(100);
  expect([held.stopped, beatsOf('years')]).toEqual([undefined, 0]);
});

test('beats for a claim while others come and go', async () => {
  const { beat, beatsOf } = countingBeats();
  const claims = heldClaims({ beat });
  claims.add(claim('long', 2_000), monotonicMs());
  const isBeaten = async (): Promise<boolean> => {
    claims.remove(claims.add(claim('brief', 1_000), monotonicMs()));
    return beatsOf('long') > 1;
  };
  await expect.poll(isBeaten, { interval: 20 }).toBe(true);
});

test('stops an attempt before the queue may give it up, even if no beat is due until then', async () => {
  const claims = heldClaims({ beat: () => Promise.reject(new Error('The network is cut.')) });
  const nearlyOver = monotonicMs() - MINUTES_MS * 0.9 + 1_000;
  const late = claims.add(claim('late', MINUTES_MS), nearlyOver);
  const other = claims.add(claim('other', MINUTES_MS), monotonicMs());
  await expect.poll(() => late.stopped).toBe('lost');
  expect([late.signal.aborted, other.stopped]).toEqual([true, undefined]);
});

test('keeps an attempt whose beats are taken beyond its first deadline', async () => {
  const { beat, beatsOf } = countingBeats();
  const claims = heldClaims({ beat });
  const kept = claims.add(claim('kept', 3_000), monotonicMs());
  await expect.poll(() => beatsOf('kept')).toBeGreaterThan(4);
  expect(kept.stopped).toBeUndefined();
});

test('beats again while a beat hangs, and takes its late answer', async () => {
  let beats = 0;
  let answer = (_lost: readonly AttemptClaim[]): void => undefined;
  const beat: Queue['beat'] = () => (++beats === 1 ? new Promise(resolve => (answer = resolve)) : Promise.resolve([]));
  const claims = heldClaims({ beat });
  const late = claims.add(claim('late', 2_000), monotonicMs());
  await expect.poll(() => beats).toBeGreaterThan(2);
  answer([late.claim]);
  await expect.poll(() => late.stopped).toBe('lost');
});

test('takes the ticket of an attempt that it stopped itself from the queue of a server', async () => {
  const memory = new MemoryQueue();
  await memory.offer([request('a')]);
  const { worker } = await workerWorld({ queue: memory });
  const { queue } = await worker('w1');
  const offer = { worker: 'w1', protocols: [1], needs: ['http'], slots: 1, version: '0.0.0' };
  const [late] = await queue.claim(offer, 1, { waitMs: 0 });
  if (!late) throw new Error('There is no claim.');
  expect(queue.ticketsToWrite()).toHaveLength(1);
  const claims = new HeldClaims(queue);
  onTestFinished(() => claims.close());
  expect(claims.add(late, monotonicMs() - late.beatWithinMs).stopped).toBe('lost');
  expect(queue.ticketsToWrite()).toEqual([]);
});
