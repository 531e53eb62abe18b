import {
  JSON_DEPTH_MAX,
  type JsonLimits,
  type Refusal,
  refusal,
  utf8Text,
  tooManyValues,
  valuesMaxOf,
} from './json-refusal.ts';
import { MINUS, NINE, numberEnd, QUOTE, stringEnd, ZERO } from './json-tokens.ts';

/**
 * Scans the bytes once and counts object members, or reports the first error. It is one loop because it reads every byte of
 * every document. `findRepeats` also tracks keys, which is slower and needed only to name a repeated key.
 */
export function scan(bytes: Uint8Array, limits: JsonLimits, findRepeats = false): Counts | Refusal {
  const length = bytes.length;
  const valuesMax = valuesMaxOf(limits.bytesMax);
  const open = new Uint8Array(JSON_DEPTH_MAX + 1);
  const keys: Set<string>[] = [];
  const starts: number[] = [];
  let depth = 0;
  let members = 0;
  let values = 0;
  let next: number = NEXT.value;
  let at = 0;
  while (at < length) {
    if (values > valuesMax) return { code: 'too_many_values', message: tooManyValues(limits.bytesMax) };
    const start = at++;
    const byte = bytes[start] as number;
    if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) {
      // White space may stand between any two tokens.
    } else if (byte === QUOTE && (next <= NEXT.valueOrEnd || next === NEXT.keyOrEnd || next === NEXT.key)) {
      const end = stringEnd(bytes, start);
      if (typeof end !== 'number') return end;
      at = end;
      if (next <= NEXT.valueOrEnd) {
        values++;
        next = depth === 0 ? NEXT.nothing : NEXT.commaOrEnd;
      } else {
        members++;
        if (depth === 1) starts.push(start);
        next = NEXT.colon;
        const repeated = findRepeats && repeatedKey(keys[depth], bytes, start, end);
        if (repeated) return repeated;
      }
    } else if (byte === 0x3a /* : */ && next === NEXT.colon) {
      next = NEXT.value;
    } else if (byte === 0x2c /* , */ && next === NEXT.commaOrEnd) {
      next = open[depth] === OBJECT ? NEXT.key : NEXT.value;
    } else if (byte === 0x7d /* } */ || byte === 0x5d /* ] */) {
      const kind = byte === 0x7d ? OBJECT : ARRAY;
      const mayEnd = next === NEXT.commaOrEnd || next === (kind === OBJECT ? NEXT.keyOrEnd : NEXT.valueOrEnd);
      if (!mayEnd || open[depth] !== kind) return unexpected(bytes, start, next);
      depth--;
      next = depth === 0 ? NEXT.nothing : NEXT.commaOrEnd;
    } else if (next > NEXT.valueOrEnd) {
      return unexpected(bytes, start, next);
    } else if (byte === 0x7b /* { */ || byte === 0x5b /* [ */) {
      values++;
      if (depth === JSON_DEPTH_MAX) return tooDeep(bytes, start);
      open[++depth] = byte === 0x7b ? OBJECT : ARRAY;
      if (findRepeats) keys[depth] = new Set();
      next = byte === 0x7b ? NEXT.keyOrEnd : NEXT.valueOrEnd;
    } else {
      values++;
      const end = startsNumber(byte) ? numberEnd(bytes, start) : wordEnd(bytes, start, next);
      if (typeof end !== 'number') return end;
      at = end;
      next = depth === 0 ? NEXT.nothing : NEXT.commaOrEnd;
    }
  }
  if (next === NEXT.nothing) return { members, values, starts };
  return refusal('syntax', `The document ends too early: expected ${EXPECTED[next]}`, bytes, length);
}

function startsNumber(byte: number): boolean {
  return byte === MINUS || (byte >= ZERO && byte <= NINE);
}

/** Refuses a key that its object already has. Otherwise adds it. */
function repeatedKey(known: Set<string> | undefined, bytes: Uint8Array, at: number, end: number): Refusal | undefined {
  const key = JSON.parse(utf8Text(bytes.subarray(at, end))) as string;
  if (known?.has(key)) {
    const message = `The key ${JSON.stringify(key.slice(0, 60))} appears twice in one object`;
    return refusal('duplicate_key', message, bytes, at);
  }
  known?.add(key);
  return undefined;
}

function tooDeep(bytes: Uint8Array, at: number): Refusal {
  return refusal('too_deep', `The document is nested deeper than ${JSON_DEPTH_MAX} levels`, bytes, at);
}

interface Counts {
  /** The number of keys in all objects. */
  readonly members: number;
  readonly values: number;
  /** The byte offsets of the members of the outermost object. */
  readonly starts: readonly number[];
}

const OBJECT = 1;
const ARRAY = 2;

/** What the scan expects next. */
const NEXT = { value: 0, valueOrEnd: 1, keyOrEnd: 2, key: 3, colon: 4, commaOrEnd: 5, nothing: 6 } as const;

const EXPECTED = [
  'a value',
  'a value or "]"',
  'a key or "}"',
  'a key',
  '":"',
  '"," or the end of the list or object',
  'the end of the document',
];

const WORDS = ['true', 'false', 'null'].map(word => Buffer.from(word));

function wordEnd(bytes: Uint8Array, start: number, next: number): number | Refusal {
  for (const word of WORDS) {
    let length = 0;
    while (length < word.length && bytes[start + length] === word[length]) length++;
    if (length === word.length) return start + length;
  }
  const rest = utf8Text(bytes.subarray(start, start + 9));
  if (/^(NaN|Infinity)/.test(rest)) return refusal('not_finite', 'NaN and Infinity are not JSON', bytes, start);
  return unexpected(bytes, start, next);
}

function unexpected(bytes: Uint8Array, at: number, next: number): Refusal {
  if (next === NEXT.nothing) return refusal('trailing_bytes', 'More bytes follow the document', bytes, at);
  return refusal('syntax', `This is not JSON: expected ${EXPECTED[next]}`, bytes, at);
}
