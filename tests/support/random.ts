/** The seed of random choices in the deep tests. Set PROCTOR_SEED to the printed value to repeat a run. */
export const SEED = Number(process.env['PROCTOR_SEED'] ?? Date.now() % 1_000_000_000);

/** Mulberry32: returns the same numbers between 0 and 1 for the same seed. */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
