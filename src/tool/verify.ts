import { existsSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import { meant, readRegular } from '../base/regular.ts';
import { type Options, type Outcome, type Verdict, verifyInBatches } from '../verify/index.ts';

export { EXIT } from '../verify/verdict.ts';
export type { Outcome, Verdict };

export interface VerifyOptions extends Omit<Options, 'key'> {
  /** The file of a public key. */
  readonly keyFile?: string;
}

/** Judges everything that was named, some verdicts at a time: files, folders, or runs by their name. */
export async function* verify(
  inputs: readonly string[],
  { keyFile, ...options }: VerifyOptions,
  cwd: string,
): AsyncGenerator<readonly Verdict[]> {
  const key = keyFile === undefined ? {} : { key: textOf(keyFile) };
  const files = await Promise.all(inputs.map(input => fileOf(input, cwd)));
  yield* verifyInBatches(files, { ...options, ...key });
}

function textOf(keyFile: string): string {
  const bytes = readRegular(meant(keyFile), KEY_BYTES_MAX);
  if (bytes) return bytes.toString('latin1');
  throw new Fault('usage', `The key ${printable(keyFile)} is not a file of at most 64 KiB that can be read.`);
}

const KEY_BYTES_MAX = 64 * 1024;

/** A file of that name comes first; then the run that it may be the name of. */
async function fileOf(input: string, cwd: string): Promise<string> {
  if (input !== 'latest' && !RUN_ID.test(input)) return input;
  if (existsSync(input)) return input;
  const { placeOf } = await import('./runs.ts');
  const { folder } = placeOf(cwd, input);
  return path.relative(cwd, folder) || '.';
}

/** An id of a run, or the beginning of one. */
const RUN_ID = /^(?:script|agent|intent)_[0-9a-f_]*$/;
