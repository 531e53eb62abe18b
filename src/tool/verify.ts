import type { Options, Outcome, Verdict } from '../verify/index.ts';

export { EXIT } from '../verify/verdict.ts';
export type { Outcome, Verdict };

/** Judges everything that was named, some verdicts at a time. */
export async function* verify(inputs: readonly string[], options: Options): AsyncGenerator<readonly Verdict[]> {
  const room = await import('../verify/index.ts');
  yield* room.verifyInBatches(inputs, options);
}
