import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Options, Outcome, Verdict } from '../verify/index.ts';

export { EXIT } from '../verify/verdict.ts';
export type { Outcome, Verdict };

/** Judges everything that was named, some verdicts at a time: files, folders, or runs by their name. */
export async function* verify(
  inputs: readonly string[],
  options: Options,
  cwd: string,
): AsyncGenerator<readonly Verdict[]> {
  const room = await import('../verify/index.ts');
  yield* room.verifyInBatches(await Promise.all(inputs.map(input => fileOf(input, cwd))), options);
}

/** A file of that name comes first; then the run that it may be the name of. */
async function fileOf(input: string, cwd: string): Promise<string> {
  if (input !== 'latest' && !RUN_ID.test(input)) return input;
  if (existsSync(input)) return input;
  const { placeOf } = await import('./runs.ts');
  const { folder } = await placeOf(cwd, input);
  return path.relative(cwd, folder) || '.';
}

/** An id of a run, or the beginning of one. */
const RUN_ID = /^(?:script|agent|intent)_[0-9a-f_]*$/;
