import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import { followLink, readRegular } from '../base/regular.ts';
import { KINDS } from '../run/kinds.ts';
import { type Options, type Outcome, type Verdict, verifyInBatches } from '../verify/index.ts';

export { EXIT } from '../verify/verdict.ts';
export type { Outcome, Verdict };

export interface VerifyOptions extends Omit<Options, 'key' | 'revoked'> {
  readonly keyFiles?: readonly string[];
  readonly revokedFiles?: readonly string[];
}

/** Verifies files, folders and runs, and yields verdicts in batches. */
export async function* verifyInputs(
  inputs: readonly string[],
  { keyFiles = [], revokedFiles = [], ...options }: VerifyOptions,
  cwd: string,
): AsyncGenerator<readonly Verdict[]> {
  const keys = {
    ...(keyFiles.length > 0 && { key: keyFiles.map(textOf) }),
    ...(revokedFiles.length > 0 && { revoked: revokedFiles.map(textOf) }),
  };
  const files = await Promise.all(inputs.map(input => fileOf(input, cwd)));
  if (Object.keys(keys).length > 0 || !files.some(isYaml)) {
    yield* verifyInBatches(files, { ...options, ...keys });
    return;
  }
  for (const file of files) {
    if (isYaml(file)) yield [await yamlVerdict(file, options, cwd)];
    else yield* verifyInBatches(file, options);
  }
}

async function yamlVerdict(file: string, options: Options, cwd: string): Promise<Verdict> {
  const { verifyYaml } = await import('./verify-yaml.ts');
  return verifyYaml(file, cwd, options);
}

function isYaml(file: string): boolean {
  return /\.ya?ml$/i.test(file) && statSync(file, { throwIfNoEntry: false })?.isFile() === true;
}

function textOf(keyFile: string): string {
  const bytes = readRegular(followLink(keyFile), KEY_BYTES_MAX);
  if (bytes) return bytes.toString('latin1');
  throw new Fault('usage', `Cannot read the key ${printable(keyFile)}, or it is larger than 64 KiB.`);
}

const KEY_BYTES_MAX = 64 * 1024;

/** A file with that name has priority over a run. */
async function fileOf(input: string, cwd: string): Promise<string> {
  if (input !== 'latest' && !RUN_ID.test(input)) return input;
  if (existsSync(input)) return input;
  const { runFolderOf } = await import('./runs.ts');
  const { folder } = runFolderOf(cwd, input);
  return path.relative(cwd, folder) || '.';
}

/** A run id, or the start of one. */
const RUN_ID = new RegExp(`^(?:${Object.keys(KINDS).join('|')})_[0-9a-f_]*$`);
