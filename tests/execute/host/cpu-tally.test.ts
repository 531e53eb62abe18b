import { expect, test } from 'vitest';
import { CpuTally } from '../../../src/execute/host/cpu-tally.ts';
import type { ProcessTimes } from '../../../src/execute/host/proc-files.ts';

const FIRST = { pid: 1, parent: 0, startTicks: 1, ownTicks: 0, childTicks: 0 };
const child = (pid: number, ownTicks: number, more: Partial<ProcessTimes> = {}): ProcessTimes => ({
  pid,
  parent: 1,
  startTicks: pid,
  ownTicks,
  childTicks: 0,
  ...more,
});

/** The tally after each sample. */
function tallied(...samples: (readonly ProcessTimes[])[]): number[] {
  const tally = new CpuTally();
  return samples.map(sample => tally.add(sample));
}

test('counts a child once if its parent waits for it', () => {
  expect(tallied([FIRST, child(2, 10)], [FIRST, child(2, 30)], [{ ...FIRST, childTicks: 35 }])).toEqual([10, 30, 35]);
});

test('keeps the time of a child that its parent did not wait for', () => {
  expect(tallied([FIRST, child(2, 30)], [FIRST], [FIRST, child(3, 5)], [FIRST])).toEqual([30, 30, 35, 35]);
});

test('handles a parent that waits for one child and not for another', () => {
  const heir = child(2, 0, { childTicks: 20 });
  const before = [FIRST, child(2, 0), child(3, 20, { parent: 2 }), child(4, 50)];
  expect(tallied(before, [FIRST, heir])).toEqual([70, 70]);
});

test('keeps the time of processes that ended together with their parent', () => {
  const family = [child(2, 5), child(3, 20, { parent: 2 })];
  expect(tallied([FIRST, ...family], [{ ...FIRST, childTicks: 25 }])).toEqual([25, 25]);
  expect(tallied([FIRST, ...family], [{ ...FIRST, childTicks: 5 }])).toEqual([25, 25]);
});

test('treats a reused pid as a new process', () => {
  expect(tallied([FIRST, child(2, 30)], [FIRST, child(2, 4, { startTicks: 9 })])).toEqual([30, 34]);
});

test('counts short-lived children that were never sampled if a parent waited for them', () => {
  expect(tallied([FIRST], [{ ...FIRST, childTicks: 100 }])).toEqual([0, 100]);
});
