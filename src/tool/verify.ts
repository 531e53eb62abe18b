import type { Options, Verdict } from '../verify/index.ts';

export { EXIT } from '../verify/verdict.ts';
export type { Verdict };

/** Judges everything that was named, one verdict at a time. */
export async function* verify(inputs: readonly string[], options: Options): AsyncGenerator<Verdict> {
  const room = await import('../verify/index.ts');
  yield* room.verify(inputs, options);
}
