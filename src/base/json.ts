import { isUtf8 } from 'node:buffer';
import { type JsonLimits, type Refusal, textOf, tooLarge } from './json-refusal.ts';
import { scan } from './json-scan.ts';

export { tooLarge, tooManyValues, valuesMaxOf } from './json-refusal.ts';

/**
 * Reads bytes strictly as one JSON value, or returns a refusal. Never throws.
 *
 * JSON.parse alone accepts duplicate keys (the last wins), decodes invalid UTF-8 to U+FFFD, rounds large integers, and its
 * error messages differ between Node versions. So a scan without recursion comes first, and JSON.parse sees only valid
 * documents.
 */
export function readJson(bytes: Uint8Array, limits: JsonLimits): JsonReading {
  if (bytes.length > limits.bytesMax)
    return { ok: false, refusal: { code: 'too_large', message: tooLarge(limits.bytesMax) } };
  const encoding = encodingTrouble(bytes);
  if (encoding) return { ok: false, refusal: encoding };
  const counts = scan(bytes, limits);
  if ('code' in counts) return { ok: false, refusal: counts };
  const text = textOf(bytes);
  const value: unknown = JSON.parse(text);
  // JSON.parse drops duplicate keys, so a document with a repeated key has fewer members than the scan counted.
  if (counts.members !== membersOf(value)) {
    const repeated = scan(bytes, limits, true);
    if ('code' in repeated) return { ok: false, refusal: repeated };
  }
  const starts = text.length === bytes.length ? counts.starts : inUnits(bytes, counts.starts);
  return { ok: true, value, text, values: counts.values, starts };
}

export type JsonReading = ({ readonly ok: true } & JsonDocument) | { readonly ok: false; readonly refusal: Refusal };

export interface JsonDocument {
  readonly value: unknown;
  readonly text: string;
  /** The number of values, including nested ones. */
  readonly values: number;
  /** The offsets of the members of the outermost object in the text. */
  readonly starts: readonly number[];
}

/** Converts byte offsets to UTF-16 offsets. */
function inUnits(bytes: Uint8Array, starts: readonly number[]): number[] {
  let from = 0;
  let units = 0;
  return starts.map(start => {
    units += textOf(bytes.subarray(from, start)).length;
    from = start;
    return units;
  });
}

function encodingTrouble(bytes: Uint8Array): Refusal | undefined {
  const a = bytes[0];
  const b = bytes[1];
  const c = bytes[2];
  if (a === undefined || (a <= 0x20 && isBlank(bytes))) {
    return { code: 'empty', message: 'The document is empty.' };
  }
  if (a === 0xef && b === 0xbb && c === 0xbf) {
    return {
      code: 'byte_order_mark',
      message: 'The document starts with a byte order mark, which JSON does not allow.',
    };
  }
  if ((a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff) || (a === 0 && b !== 0) || (b === 0 && a !== 0)) {
    return { code: 'not_utf8', message: 'The document is UTF-16 or UTF-32, but JSON must be UTF-8.' };
  }
  if (isUtf8(bytes)) return undefined;
  return { code: 'not_utf8', message: 'The document is not valid UTF-8.' };
}

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every(byte => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09);
}

function membersOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let members = 0;
  if (Array.isArray(value)) {
    for (const element of value) members += membersOf(element);
    return members;
  }
  // For results of JSON.parse, `for in` visits exactly the own keys, even `__proto__`, and is faster than Object.values.
  for (const key in value) members += 1 + membersOf((value as Record<string, unknown>)[key]);
  return members;
}
