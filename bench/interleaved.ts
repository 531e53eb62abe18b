import { setTimeout as rest } from 'node:timers/promises';

/**
 * How long each way took in each round, in milliseconds. Each way once per round, so that what else the machine does falls
 * on all of them alike; the first three rounds only warm up.
 */
export async function interleaved(
  ways: Readonly<Record<string, () => Promise<unknown>>>,
  rounds: number,
): Promise<Map<string, number[]>> {
  const times = new Map<string, number[]>(Object.keys(ways).map(name => [name, []]));
  for (let round = -3; round < rounds; round++) {
    for (const [name, way] of Object.entries(ways)) {
      // What the last way left to be done must not fall on this one.
      await rest(REST_MS);
      const began = performance.now();
      await way();
      if (round >= 0) times.get(name)?.push(performance.now() - began);
    }
  }
  return times;
}

const REST_MS = 80;

/** The median of each way. */
export async function medians(
  ways: Readonly<Record<string, () => Promise<unknown>>>,
  rounds: number,
): Promise<Record<string, number>> {
  const times = await interleaved(ways, rounds);
  return Object.fromEntries([...times].map(([name, all]) => [name, median(all)]));
}

function median(values: readonly number[]): number {
  return Number((values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0).toFixed(2));
}
