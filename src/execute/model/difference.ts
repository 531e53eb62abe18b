import { canonicalize } from '../../base/canonical.ts';
import { placeOf } from '../../base/place.ts';
import { printable } from '../../base/printable.ts';

/** The first difference between two values, in document order. */
export interface RequestDifference {
  readonly path: string;
  readonly recorded: string;
  readonly asked: string;
}

/** Undefined if the values are equal. A missing key counts as a difference. */
export function firstRequestDifference(recorded: unknown, asked: unknown, path = ''): RequestDifference | undefined {
  if (isBranch(recorded) && isBranch(asked) && Array.isArray(recorded) === Array.isArray(asked)) {
    const isList = Array.isArray(recorded);
    for (const key of keysOf(recorded, asked, isList)) {
      const found = firstRequestDifference(
        own(recorded, key),
        own(asked, key),
        placeOf(path, isList ? Number(key) : key),
      );
      if (found) return found;
    }
    return undefined;
  }
  if (recorded === asked) return undefined;
  return { path, ...shownBoth(recorded, asked) };
}

function isBranch(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** Recorded keys first, then new keys. */
function keysOf(recorded: object, asked: object, isList: boolean): string[] {
  const keys = [...new Set([...Object.keys(recorded), ...Object.keys(asked)])];
  return isList ? keys.sort((a, b) => Number(a) - Number(b)) : keys;
}

function own(value: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

/** For long texts, an excerpt around the first difference. */
function shownBoth(recorded: unknown, asked: unknown): Omit<RequestDifference, 'path'> {
  if (typeof recorded !== 'string' || typeof asked !== 'string')
    return { recorded: shown(recorded), asked: shown(asked) };
  let at = 0;
  while (at < recorded.length && recorded[at] === asked[at]) at++;
  const from = Math.max(0, at - BEFORE_UNITS);
  return { recorded: excerpt(recorded, from), asked: excerpt(asked, from) };
}

function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  return typeof value === 'string' ? excerpt(value, 0) : cut(canonicalize(value), 0);
}

function excerpt(text: string, from: number): string {
  return `"${cut(text, from)}"`;
}

function cut(text: string, from: number): string {
  const part = text.slice(from, from + SHOWN_UNITS).toWellFormed();
  return `${from > 0 ? '…' : ''}${printable(part)}${from + SHOWN_UNITS < text.length ? '…' : ''}`;
}

const BEFORE_UNITS = 20;
const SHOWN_UNITS = 100;
