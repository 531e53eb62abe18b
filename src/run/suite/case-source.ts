import { readSync } from 'node:fs';
import { check } from '../../contracts/check.ts';
import { kindOf } from '../../contracts/kind.ts';
import { cases } from '../../contracts/suite/index.ts';
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
  /** An upper bound for the size as JSON. The exact size is computed only if this exceeds the limit. */
  readonly jsonBytesMost: number;
}

/** How large a case can get once resolved: `1e15` expands to sixteen digits, and defaults are added. */
export function jsonBytesMost(textBytes: number): number {
  return 5 * textBytes + 256;
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
  return violations.map(({ path = '', message }) => ({ place: path, says: message.replace(/\.$/, '') }));
}

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
