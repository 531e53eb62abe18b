import { readSync } from 'node:fs';
import { check } from '../../contracts/check.ts';
import { kindOf } from '../../contracts/kind.ts';
import { cases, CODING_KEYS, type CodingKeys } from '../../contracts/suite/index.ts';
import type { WrittenWrong } from '../written/wrong.ts';

/** A case file in any format. */
export interface CaseSource {
  readonly written: Iterable<Written>;
  /** Returns the line of a path such as `expected.regex[0]` in a case. Called only for faults. */
  readonly lineOf: (index: number, place: string) => number;
}

/** A case as written in the file, or a fault in the file itself. */
export type Written = WrittenCase | WrittenWrong;

export interface WrittenCase {
  readonly index: number;
  readonly value: unknown;
  /** The file's default suite. */
  readonly suite?: string | undefined;
  /** The file's defaults for what the agent works on and how its work is checked. */
  readonly defaults?: CaseDefaults | undefined;
  /** An upper bound for the size as JSON. The exact size is computed only if this exceeds the limit. */
  readonly jsonBytesMost: number;
}

/** Valid keys beside the list of cases. */
export interface CaseDefaults {
  readonly keys: CodingKeys;
  readonly lineOf: (place: string) => number;
}

/** The defaults of a file. Undefined if there are none, or if the file has faults, which are reported once. */
export function defaultsIn(
  envelope: Record<string, unknown>,
  lineOf: (place: string) => number,
): CaseDefaults | undefined {
  const given = CODING_KEYS.filter(key => Object.hasOwn(envelope, key));
  if (given.length === 0) return undefined;
  return { keys: Object.fromEntries(given.map(key => [key, envelope[key]])), lineOf };
}

/** How large a case can get once resolved: `1e15` expands to sixteen digits, and defaults are added. */
export function jsonBytesMost(textBytes: number): number {
  return 5 * textBytes + 256 + DEFAULTS_BYTES_MAX;
}

export function notCases(value: unknown): WrittenWrong {
  return {
    line: 1,
    says: `The file must contain a list of cases, or an object with the key cases, but contains ${kindOf(value)}`,
  };
}

/** Validates the object around a list of cases, but not the cases. */
export function envelopeWrongs(envelope: Record<string, unknown>): { place: string; says: string }[] {
  const alone = {
    schema_version: 'cases.v1',
    ...envelope,
    ...(Array.isArray(envelope.cases) && { cases: [] }),
  };
  const { violations } = check(cases, alone, { strict: true, internal: false });
  const wrongs = violations.map(({ path = '', message }) => ({ place: path, says: message.replace(/\.$/, '') }));
  const given = CODING_KEYS.filter(key => Object.hasOwn(envelope, key));
  const bytes = Buffer.byteLength(JSON.stringify(given.map(key => envelope[key])));
  if (bytes > DEFAULTS_BYTES_MAX)
    wrongs.push({
      place: given[0] ?? '',
      says: `The defaults of the file are larger than ${DEFAULTS_BYTES_MAX / 1024} KiB`,
    });
  return wrongs;
}

/** Every stored case contains the defaults of its file. */
const DEFAULTS_BYTES_MAX = 64 * 1024;

/** Formats a path the same way for every file format. */
export function placeInCases(index: number, place: string): string {
  return `cases[${index}]${place === '' || place.startsWith('[') ? '' : '.'}${place}`;
}

export function bytesIn(fd: number, bytes: number): Buffer {
  const buffer = Buffer.allocUnsafe(bytes);
  let length = 0;
  for (let read = -1; read !== 0 && length < bytes; length += read) {
    read = readSync(fd, buffer, length, bytes - length, null);
  }
  return buffer.subarray(0, length);
}
