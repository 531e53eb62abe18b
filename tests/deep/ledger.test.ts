import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { randomFrom, SEED } from '../support/random.ts';
import { append, brokenIn, idsIn, ledgerIn, newHome, type Writing, writer } from '../evidence/ledger/ledger-world.ts';

const random = randomFrom(SEED);

const ROUNDS = Number(process.env['PROCTOR_KILLS'] ?? 100);

test('eight concurrent writers of two hundred lines each lose and duplicate none, even with a reader', async () => {
  const home = newHome();
  const start = await writer();
  const writers = Array.from({ length: 8 }, (_, index) => start(home, `w${index}`, 200));
  const over = new AbortController();
  const reading = (async () => {
    let times = 0;
    await append(home, []);
    while (!over.signal.aborted) {
      await wait(20);
      expect((await brokenIn(ledgerIn(home))).filter(line => line !== 'enoent' && line !== 'empty')).toEqual([]);
      times++;
    }
    return times;
  })();
  expect(await Promise.all(writers.map(({ ended }) => ended))).toEqual(writers.map(() => 0));
  over.abort();
  expect(await reading).toBeGreaterThan(3);
  const said = writers.flatMap(each => each.said);
  expect(said).toHaveLength(1_600);
  expect(idsIn(home).sort()).toEqual(said.sort());
  expect(await brokenIn(ledgerIn(home))).toEqual([]);
});

test(`writers that are killed at any moment leave a usable ledger (seed ${SEED})`, async () => {
  const home = newHome();
  const start = await writer();
  const all: Writing[] = [];
  let alive: Writing[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    while (alive.length < 4) alive.push(start(home, `w${all.length + alive.length}`, 100_000));
    await wait(150 + random() * 150);
    const [killed, ...rest] = alive;
    killed?.kill();
    await killed?.ended;
    if (killed) all.push(killed);
    alive = rest;
  }
  for (const each of alive) each.kill();
  await Promise.all(alive.map(({ ended }) => ended));
  const said = [...all, ...alive].flatMap(each => each.said);
  expect(said.length).toBeGreaterThan(ROUNDS);
  await append(home, []);
  expect(await brokenIn(ledgerIn(home))).toEqual([]);
  const ids = new Set(idsIn(home));
  expect(ids.size).toBe(idsIn(home).length);
  expect(said.filter(id => !ids.has(id))).toEqual([]);
  // A writer killed between writing a line and reporting it leaves one unreported line.
  expect(ids.size - said.length).toBeLessThanOrEqual(all.length + alive.length);
});
