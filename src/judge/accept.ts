import { readJson } from '../base/json.ts';
import { readRegular } from '../base/regular.ts';
import { MIB } from '../contracts/contract.ts';
import type { AcceptCheck, IntentOutcome } from '../contracts/intent/index.ts';
import { validatorOf } from './json-schema.ts';
import { patternOf } from './patterns.ts';
import { Unjudgeable } from './unjudgeable.ts';

/** The files that were taken, by their paths. */
type Files = ReadonlyMap<string, { readonly sha256: string; readonly bytes: number }>;

/** Judges the checks of an intent on its outputs, as they lie in a folder of ours. */
export async function judgeAccept(
  checks: readonly AcceptCheck[],
  folder: string,
  files: Files,
): Promise<IntentOutcome['checks']> {
  return checks.map(check => {
    const message = troubleOf(check, folder, files) ?? null;
    return { check: check.check, path: check.path ?? null, held: message === null, message };
  });
}

/** Checks that cannot be judged at all, whatever the outputs are, as places and sentences; found before anything runs. */
export function unjudgeableChecks(checks: readonly AcceptCheck[]): { readonly at: string; readonly message: string }[] {
  return checks.flatMap(({ pattern, schema }, index) => {
    try {
      if (pattern !== undefined) patternOf(pattern);
      if (schema !== undefined) validatorOf(schema);
      return [];
    } catch (error) {
      if (!(error instanceof Unjudgeable)) throw error;
      return [{ at: `accept[${index}]`, message: error.message }];
    }
  });
}

function troubleOf({ check, path = '', pattern, schema, sha256 }: AcceptCheck, folder: string, files: Files) {
  // Whether the commands ended with 0 is judged before any check is.
  if (check === 'exit_code') return undefined;
  const file = files.get(path);
  if (!file) return 'The file is not there.';
  if (check === 'file_exists') return undefined;
  if (check === 'sha256') return file.sha256 === sha256 ? undefined : 'The file has another hash.';
  const bytes = readRegular(`${folder}/${path}`, CONTENT_BYTES_MAX);
  if (!bytes) return 'The file is too large to be looked into: 64 MiB.';
  return check === 'content_matches' ? matchTrouble(bytes, pattern ?? '') : schemaTrouble(bytes, schema ?? {});
}

const CONTENT_BYTES_MAX = 64 * MIB;

function matchTrouble(bytes: Buffer, pattern: string): string | undefined {
  return patternOf(pattern).test(bytes.toString('utf8')) ? undefined : 'The content does not match the pattern.';
}

function schemaTrouble(bytes: Buffer, schema: Record<string, unknown>): string | undefined {
  const reading = readJson(bytes, { bytesMax: CONTENT_BYTES_MAX });
  if (!reading.ok) return 'The file is not one acceptable JSON document.';
  try {
    return validatorOf(schema)(reading.value) ? 'The document does not keep the schema.' : undefined;
  } catch (error) {
    if (!(error instanceof Unjudgeable)) throw error;
    return error.message;
  }
}
