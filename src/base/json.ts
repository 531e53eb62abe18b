import { isUtf8 } from 'node:buffer';
import { type JsonLimits, type Refusal, utf8Text, tooLarge } from './json-refusal.ts';
import { scan } from './json-scan.ts';

export { tooLarge, tooManyValues, valuesMaxOf } from './json-refusal.ts';

/**
 * The strict reader: bytes in, one JSON value or one refusal out. It never throws on what it reads.
 *
 * JSON.parse alone lets two keys of one name pass (the last wins), turns bad UTF-8 into U+FFFD, rounds large integers
 * and words its errors differently in each version of Node. So the bytes are scanned first, without recursion, and
 * JSON.parse only ever sees text that has nothing left to argue about.
 */
export function readJson(bytes: Uint8Array, limits: JsonLimits): JsonReading {
  if (bytes.length > limits.bytesMax)
    return { ok: false, refusal: { code: 'too_large', message: tooLarge(limits.bytesMax) } };
  const encoding = encodingTrouble(bytes);
  if (encoding) return { ok: false, refusal: encoding };
  const counts = scan(bytes, limits);
  if ('code' in counts) return { ok: false, refusal: counts };
  const text = utf8Text(bytes);
  const value: unknown = JSON.parse(text);
  // JSON.parse keeps one of two equal keys, so a document that repeats a key comes out with fewer members than went in.
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
  /** How many values it holds, nested ones included. */
  readonly values: number;
  /** Where in the text the members of the outermost object begin. */
  readonly starts: readonly number[];
}

/** Places in bytes as places in text, which has one unit for up to three bytes. */
function inUnits(bytes: Uint8Array, starts: readonly number[]): number[] {
  let from = 0;
  let units = 0;
  return starts.map(start => {
    units += utf8Text(bytes.subarray(from, start)).length;
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
    return { code: 'byte_order_mark', message: 'The document begins with a byte order mark; JSON has none.' };
  }
  if ((a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff) || (a === 0 && b !== 0) || (b === 0 && a !== 0)) {
    return { code: 'not_utf8', message: 'The document is UTF-16 or UTF-32; JSON between systems is UTF-8.' };
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
  // `for in` over what JSON.parse made visits own keys only, `__proto__` included, and is cheaper than Object.values.
  for (const key in value) members += 1 + membersOf((value as Record<string, unknown>)[key]);
  return members;
}
