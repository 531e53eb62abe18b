import { setTimeout as rest } from 'node:timers/promises';
import { median } from './median.ts';

/**
 * Times each function in `ways` once per round, in milliseconds, so that other load on the machine affects all equally.
 * The first three rounds are a warm-up and do not count.
 */
export async function interleaved(
  ways: Readonly<Record<string, () => Promise<unknown>>>,
  rounds: number,
): Promise<Map<string, number[]>> {
  const times = new Map<string, number[]>(Object.keys(ways).map(name => [name, []]));
  for (let round = -3; round < rounds; round++) {
    for (const [name, way] of Object.entries(ways)) {
      // Lets background work of the previous function finish.
      await rest(REST_MS);
      const began = performance.now();
      await way();
      if (round >= 0) times.get(name)?.push(performance.now() - began);
    }
  }
  return times;
}

const REST_MS = 80;

/** Returns the median time of each function. */
export async function medians(
  ways: Readonly<Record<string, () => Promise<unknown>>>,
  rounds: number,
): Promise<Record<string, number>> {
  const times = await interleaved(ways, rounds);
  return Object.fromEntries([...times].map(([name, all]) => [name, Number(median(all).toFixed(2))]));
}
