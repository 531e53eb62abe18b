import { readSync } from 'node:fs';
import { check } from '../../contracts/check.ts';
import { kindOf } from '../../contracts/kind.ts';
import { cases } from '../../contracts/suite/index.ts';
import type { WrittenWrong } from '../written/wrong.ts';

/** A file of cases, whatever its format. */
export interface CaseSource {
  /** What stands in it, in order. */
  readonly written: Iterable<Written>;
  /** The line of a place such as `expected.regex[0]` in the case with this index; asked only when something is wrong. */
  readonly lineOf: (index: number, place: string) => number;
}

/** A case as it was written, or something that is wrong with the file itself. */
export type Written = WrittenCase | WrittenWrong;

export interface WrittenCase {
  readonly index: number;
  readonly value: unknown;
  /** The suite that the file gives to cases that name none. */
  readonly suite?: string | undefined;
  /** No more bytes than this can it become as JSON; the exact number is counted only if this one is too large. */
  readonly jsonBytesMost: number;
}

/**
 * How much larger than its text JSON can be once it is resolved: `1e15` becomes sixteen digits, and the version and an
 * empty input are added.
 */
export function jsonBytesMost(textBytes: number): number {
  return 5 * textBytes + 256;
}

export function notCases(value: unknown): WrittenWrong {
  return { line: 1, says: `The file must be a list of cases, or an object with cases, is ${kindOf(value)}` };
}

/** What is wrong with the object around a list of cases; the cases themselves are not looked at. */
export function envelopeWrongs(envelope: Record<string, unknown>): { place: string; says: string }[] {
  const alone = {
    schema_version: 'cases.v1',
    ...envelope,
    ...(Array.isArray(envelope.cases) && { cases: [] }),
  };
  const { violations } = check(cases, alone, { strict: true, internal: false });
  return violations.map(({ path = '', message }) => ({ place: path, says: message.replace(/\.$/, '') }));
}

/** The same for every format, whether or not it has a key of this name. */
export function placeInCases(index: number, place: string): string {
  return `cases[${index}]${place === '' || place.startsWith('[') ? '' : '.'}${place}`;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Everything that a file of so many bytes holds. */
export function bytesIn(fd: number, bytes: number): Buffer {
  const buffer = Buffer.allocUnsafe(bytes);
  let length = 0;
  for (let read = -1; read !== 0 && length < bytes; length += read) {
    read = readSync(fd, buffer, length, bytes - length, null);
  }
  return buffer.subarray(0, length);
}
