import { canonicalize } from '../../base/canonical.ts';
import { readJson } from '../../base/json.ts';
import { readRegular } from '../../base/regular.ts';
import { MIB } from '../../contracts/contract.ts';
import type { AcceptCheck, IntentOutcome } from '../../contracts/intent/index.ts';
import { Effort } from './effort.ts';
import { validatorOf } from './json-schema.ts';
import { patternOf } from './patterns.ts';
import { saying } from './sentence.ts';
import { Unjudgeable } from './unjudgeable.ts';

/** The output files, by path. */
export type Files = ReadonlyMap<string, { readonly sha256: string; readonly bytes: number }>;

/** Judges the checks of an intent in this thread. Throws `TooMuchHere` if its patterns take more than `here` steps. */
export function judgeChecks(
  checks: readonly AcceptCheck[],
  folder: string,
  files: Files,
  here?: number,
  each = STEPS_MAX,
): IntentOutcome['checks'] {
  const effort = new Effort({ each, ...(here !== undefined && { here }) });
  let looked = 0;
  const look = (path: string, bytes: number): Buffer | string => {
    if (bytes > CONTENT_BYTES_MAX) return 'The file is larger than 64 MiB, the limit for checks.';
    looked += bytes;
    if (looked > LOOKED_BYTES_MAX) return 'The checks read more than 1 GiB in total.';
    return readRegular(`${folder}/${path}`, CONTENT_BYTES_MAX) ?? 'The file cannot be read.';
  };
  return checks.map(check => {
    effort.begin();
    const message = troubleOf(check, files, look, effort) ?? null;
    return { check: check.check, path: check.path ?? null, held: message === null, message };
  });
}

/** Finds checks that no output could satisfy or fail, such as an invalid schema, before anything runs. */
export function unjudgeableChecks(checks: readonly AcceptCheck[]): { readonly at: string; readonly message: string }[] {
  let schemaBytes = 0;
  return checks.flatMap(({ pattern, schema }, index) => {
    try {
      schemaBytes += schema ? Buffer.byteLength(canonicalize(schema)) : 0;
      // Compiling a schema takes far longer than reading it.
      if (schemaBytes > SCHEMA_BYTES_MAX) throw new Unjudgeable('The schemas are larger than 256 KiB in total.');
      const effort = new Effort();
      if (pattern !== undefined) patternOf(pattern, effort);
      if (schema !== undefined) validatorOf(schema, effort);
      return [];
    } catch (error) {
      if (!(error instanceof Unjudgeable)) throw error;
      return [{ at: `accept[${index}]`, message: error.message }];
    }
  });
}

const SCHEMA_BYTES_MAX = MIB / 4;

function troubleOf(
  { check, path = '', pattern, schema, sha256 }: AcceptCheck,
  files: Files,
  look: (path: string, bytes: number) => Buffer | string,
  effort: Effort,
): string | undefined {
  // Exit codes are judged before any check.
  if (check === 'exit_code') return undefined;
  const file = files.get(path);
  if (!file) return 'The file does not exist.';
  if (check === 'file_exists') return undefined;
  if (check === 'sha256') return file.sha256 === sha256 ? undefined : 'The file has a different hash.';
  const bytes = look(path, file.bytes);
  if (typeof bytes === 'string') return bytes;
  try {
    if (check === 'content_matches') return matchTrouble(bytes, pattern ?? '', effort);
    return schemaTrouble(bytes, schema ?? {}, effort);
  } catch (error) {
    if (!(error instanceof Unjudgeable)) throw error;
    return error.message;
  }
}

/** Files are larger than answers: a pattern of 15 instructions can search 64 MiB. At worst, a check takes a minute. */
const STEPS_MAX = 1_000_000_000;
const CONTENT_BYTES_MAX = 64 * MIB;
const LOOKED_BYTES_MAX = 1024 * MIB;

function matchTrouble(bytes: Buffer, pattern: string, effort: Effort): string | undefined {
  const isFound = patternOf(pattern, effort).test(bytes.toString('utf8'), effort);
  return isFound ? undefined : 'The content does not match the pattern.';
}

function schemaTrouble(bytes: Buffer, schema: Record<string, unknown>, effort: Effort): string | undefined {
  const reading = readJson(bytes, { bytesMax: CONTENT_BYTES_MAX });
  if (!reading.ok) return 'The file is not a valid JSON document.';
  const fault = validatorOf(schema, effort)(reading.value, effort);
  if (!fault) return undefined;
  const where = fault.place === '' ? 'The document' : `In the document, ${fault.place}`;
  return saying(`${where} ${fault.message}.`, 'The document does not match the schema.');
}
