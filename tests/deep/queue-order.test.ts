/** What decides which attempt of a queue is next, counted by a real agent: `--target-slots` and `--priority`. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestPostgres } from '../support/postgres.ts';
import { until } from '../support/runs.ts';
import { answersWell } from '../run/suite/agent.ts';
import { chaosWorld } from './chaos-world.ts';

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await TestPostgres.start();
});
afterAll(() => postgres.stop());

test('an agent never sees more attempts at once than its slots, over all runs and workers', async () => {
  const slots = 2;
  let busy = 0;
  const peaks: number[] = [];
  const held: (() => void)[] = [];
  const { agent, worker, suite } = await chaosWorld(postgres, 16, (seen, response, times) => {
    peaks.push(++busy);
    held.push(() => {
      busy--;
      answersWell(seen, response, times);
    });
    // Only a full target answers, and not at once, so that attempts beyond its slots would arrive.
    if (held.length >= slots) setTimeout(() => held.splice(0).forEach(answer => answer()), 50);
  });
  worker(8);
  worker(8);
  const limited = ['--concurrency', '8', '--target-slots', String(slots)];
  const runs = [suite('one', limited), suite('other', limited)];
  for (const { code, stderr } of await Promise.all(runs.map(run => run.ended))) expect(code, stderr).toBe(0);
  expect(agent.seen).toHaveLength(32);
  expect(Math.max(...peaks)).toBe(slots);
});

test('a later, more urgent run goes first', async () => {
  const held: (() => void)[] = [];
  let isHeld = true;
  const { agent, url, worker, suite } = await chaosWorld(postgres, 4, (seen, response, times) => {
    if (isHeld) held.push(() => answersWell(seen, response, times));
    else answersWell(seen, response, times);
  });
  const waiting = async (): Promise<number> =>
    (await postgres.sql(`select 1 from proctor_queue.job_common where state < 'active'`, url)).length;
  worker(1);
  const ordinary = suite('ordinary', ['--concurrency', '4']);
  await until('the first attempt is under way', () => agent.seen.length === 1);
  await expect.poll(waiting).toBe(3);
  const urgent = suite('urgent', ['--concurrency', '4', '--priority', '5']);
  await expect.poll(waiting).toBe(7);
  isHeld = false;
  for (const answer of held) answer();
  for (const { code, stderr } of await Promise.all([ordinary.ended, urgent.ended])) expect(code, stderr).toBe(0);
  const order = agent.seen.map(({ headers }) => String(headers['idempotency-key']).split('/')[0]);
  expect(order).toEqual([
    'ordinary',
    ...Array.from({ length: 4 }, () => 'urgent'),
    ...Array.from({ length: 3 }, () => 'ordinary'),
  ]);
});
