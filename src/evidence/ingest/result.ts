import { closeSync, fstatSync, lstatSync, openSync, readSync } from 'node:fs';
import { canonicalize } from '../../base/canonical.ts';
import { Fault } from '../../base/fault.ts';
import { bytesHash, type ContentHash } from '../../base/hash.ts';
import { readJson, tooLarge, valuesMaxOf } from '../../base/json.ts';
import { placeOf } from '../../base/place.ts';
import { check } from '../../contracts/check.ts';
import { formOf } from '../../contracts/form.ts';
import { type ScriptResult, scriptResult } from '../../contracts/script-result/index.ts';
import { below, systemCodeOf, FILE_FLAGS, holdWorkFolder, isCode, isSame, scriptFault } from './held.ts';
import { type Breach, breach, type ReasonCode } from './reason.ts';

export type ResultReading =
  | {
      readonly ok: true;
      /** Known keys only. `bytes` contains everything that the script wrote. */
      readonly value: ScriptResult;
      readonly bytes: Buffer;
      readonly sha256: ContentHash;
      readonly notes: { readonly unknown_keys: readonly string[] };
    }
  | (Breach & {
      /** The original bytes, if result.json was a regular file within the size limit. */
      readonly bytes?: Buffer;
    });

/**
 * Reads a script's result.json after the script and all its children have ended. Returns a defect in the file, because
 * the script caused it. Throws if the machine fails.
 */
export function readResult(workFolder: string): ResultReading {
  const bytes = readBytes(workFolder);
  return Buffer.isBuffer(bytes) ? judge(bytes) : bytes;
}

function readBytes(workFolder: string): Buffer | Breach {
  const held = holdWorkFolder(workFolder);
  if (typeof held === 'string') return breach('result_not_regular', held);
  try {
    return readRegular(below(held, 'result.json'));
  } catch (cause) {
    const doing = scriptFault(cause);
    if (isCode(cause, 'ENOENT')) return breach('result_missing', 'there is no result.json');
    if (doing) return breach('result_not_regular', `result.json ${doing}`);
    if (systemCodeOf(cause) === '') throw cause;
    throw new Fault('ingest_io', "The run's result could not be read.", { cause });
  } finally {
    closeSync(held);
  }
}

/** Reads once from one descriptor, so the judged, hashed and stored bytes are the same. */
function readRegular(file: string): Buffer | Breach {
  // Check the type before opening, because opening a device can have side effects.
  if (!lstatSync(file).isFile()) return breach('result_not_regular', 'result.json is not a regular file');
  const fd = openSync(file, FILE_FLAGS);
  try {
    const before = fstatSync(fd);
    if (!before.isFile()) return breach('result_not_regular', 'result.json is no longer a regular file');
    // A hard link may lead to a file that the script cannot read but Proctor can.
    if (before.nlink !== 1) return breach('result_not_regular', 'result.json has more than one hard link');
    if (before.size > FILE_BYTES_MAX) return breach('result_too_large', `result.json has ${before.size} bytes`);
    const bytes = readUpTo(fd, Math.min(before.size, FILE_BYTES_MAX) + 1);
    if (bytes.length !== before.size || !isSame(before, fstatSync(fd)))
      return breach('result_not_regular', 'result.json changed while it was read');
    return bytes;
  } finally {
    closeSync(fd);
  }
}

function readUpTo(fd: number, bytesMax: number): Buffer {
  const buffer = Buffer.allocUnsafe(bytesMax);
  let total = 0;
  for (let length = -1; length !== 0 && total < bytesMax; total += length) {
    length = readSync(fd, buffer, total, bytesMax - total, null);
  }
  return Buffer.from(buffer.subarray(0, total));
}

/** Checks bytes before values, and the version before the shape. */
function judge(bytes: Buffer): ResultReading {
  const reading = readJson(bytes, { bytesMax: FILE_BYTES_MAX });
  if (!reading.ok) {
    const code = REFUSALS[reading.refusal.code] ?? 'result_bad_json';
    return { ...breach(code, `${reading.refusal.code}: ${reading.refusal.message}`), bytes };
  }
  if (isTooLarge(reading.value, reading.values, bytes.length)) {
    const isKept = bytes.length <= BYTES_MAX;
    return { ...breach('result_too_large', `too_large: ${tooLarge(BYTES_MAX)}`), ...(isKept && { bytes }) };
  }
  // 1.0 and 1e0 count as version 1, as in canonical JSON and its hashes. Otherwise the same document would be
  // judged differently before and after it is stored.
  const { violations } = check(scriptResult, reading.value, { strict: false, internal: false });
  const broken = violations.filter(({ rule_id }) => rule_id !== 'SR4' || !hasSummaryText(reading.value));
  if (broken.length > 0) {
    const detail = broken.slice(0, DETAILS_MAX).map(({ rule_id, message }) => `${rule_id} ${message}`);
    return { ...breach(codeFor(broken), detail.join(' ')), bytes };
  }
  return {
    ok: true,
    value: known(reading.value as ScriptResult),
    bytes,
    sha256: bytesHash(bytes),
    notes: { unknown_keys: unknownKeys(reading.value) },
  };
}

/** Measures the canonical size, because Python escapes all non-ASCII text and an escape takes up to six bytes. */
function isTooLarge(value: unknown, values: number, bytes: number): boolean {
  if (values > valuesMaxOf(BYTES_MAX)) return true;
  return bytes > BYTES_MAX && Buffer.byteLength(canonicalize(value)) > BYTES_MAX;
}

/** An unsafe summary is replaced when it is shown. It must not invalidate the result. */
function hasSummaryText(value: unknown): boolean {
  return typeof (value as ScriptResult).error_summary === 'string';
}

function codeFor(broken: readonly { readonly rule_id: string; readonly path?: string }[]): ReasonCode {
  if (broken.some(({ path }) => path === 'contract_version')) return 'version_unsupported';
  return broken.every(({ rule_id }) => rule_id === 'SR6') ? 'artifact_path_invalid' : 'schema_invalid';
}

function known({ contract_version, status, html_output, error_summary, artifacts }: ScriptResult): ScriptResult {
  const hints = artifacts.map(({ path, bytes }) => ({ path, bytes }));
  return { contract_version, status, html_output, error_summary, artifacts: hints };
}

function unknownKeys(value: unknown): string[] {
  const keys: string[] = [];
  for (const { parent, key } of formOf(scriptResult.shape).unknown(value, '')) {
    if (keys.push(placeOf(parent, key)) === UNKNOWN_KEYS_MAX) break;
  }
  return keys;
}

const REFUSALS: Record<string, ReasonCode> = {
  too_large: 'result_too_large',
  too_many_values: 'result_too_large',
  too_deep: 'result_too_deep',
  not_utf8: 'result_bad_utf8',
  duplicate_key: 'result_duplicate_key',
};

const BYTES_MAX = scriptResult.bytesMax;
const FILE_BYTES_MAX = 6 * BYTES_MAX;
const DETAILS_MAX = 20;
const UNKNOWN_KEYS_MAX = 50;
