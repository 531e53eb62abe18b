/**
 * Walks the bytes once and counts object members, or says where and why they are not acceptable. With `findRepeats`
 * it also keeps the keys of every open object, which is slower and needed only to name a repeated one.
 */
export function scan(bytes: Uint8Array, limits: JsonLimits, findRepeats = false): { members: number } | Refusal {
  const length = bytes.length;
  const valuesMax = Math.max(1024, limits.bytesMax / BYTES_PER_VALUE);
  const open = new Uint8Array(DEPTH_MAX + 1);
  const keys: Set<string>[] = [];
  let depth = 0;
  let members = 0;
  let values = 0;
  let next: number = NEXT.value;
  let at = 0;

  while (at < length) {
    if (values > valuesMax) {
      return refusal('too_many_values', `The document holds more than ${Math.floor(valuesMax)} values`, bytes, at);
    }
    const byte = bytes[at] as number;
    if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) {
      at++;
      continue;
    }
    if (byte === QUOTE && (next <= NEXT.valueOrEnd || next === NEXT.keyOrEnd || next === NEXT.key)) {
      const end = stringEnd(bytes, at);
      if (typeof end !== 'number') return end;
      if (next <= NEXT.valueOrEnd) {
        values++;
        next = depth === 0 ? NEXT.nothing : NEXT.commaOrEnd;
      } else {
        members++;
        next = NEXT.colon;
        if (findRepeats) {
          const key = JSON.parse(textOf(bytes.subarray(at, end))) as string;
          if (keys[depth]?.has(key)) {
            return refusal(
              'duplicate_key',
              `The key ${JSON.stringify(key.slice(0, 60))} stands twice in one object`,
              bytes,
              at,
            );
          }
          keys[depth]?.add(key);
        }
      }
      at = end;
      continue;
    }
    if (byte === 0x3a /* : */ && next === NEXT.colon) {
      next = NEXT.value;
      at++;
      continue;
    }
    if (byte === 0x2c /* , */ && next === NEXT.commaOrEnd) {
      next = open[depth] === OBJECT ? NEXT.key : NEXT.value;
      at++;
      continue;
    }
    if (byte === 0x7d /* } */ || byte === 0x5d /* ] */) {
      const kind = byte === 0x7d ? OBJECT : ARRAY;
      const mayEnd = next === NEXT.commaOrEnd || next === (kind === OBJECT ? NEXT.keyOrEnd : NEXT.valueOrEnd);
      if (!mayEnd || open[depth] !== kind) return unexpected(bytes, at, next);
      depth--;
      next = depth === 0 ? NEXT.nothing : NEXT.commaOrEnd;
      at++;
      continue;
    }
    if (next > NEXT.valueOrEnd) return unexpected(bytes, at, next);
    values++;
    if (byte === 0x7b /* { */ || byte === 0x5b /* [ */) {
      if (depth === DEPTH_MAX) {
        return refusal('too_deep', `The document is nested deeper than ${DEPTH_MAX} levels`, bytes, at);
      }
      open[++depth] = byte === 0x7b ? OBJECT : ARRAY;
      if (findRepeats) keys[depth] = new Set();
      next = byte === 0x7b ? NEXT.keyOrEnd : NEXT.valueOrEnd;
      at++;
      continue;
    }
    const end = byte === MINUS || (byte >= ZERO && byte <= NINE) ? numberEnd(bytes, at) : wordEnd(bytes, at, next);
    if (typeof end !== 'number') return end;
    next = depth === 0 ? NEXT.nothing : NEXT.commaOrEnd;
    at = end;
  }
  if (next === NEXT.nothing) return { members };
  return refusal('syntax', `The document ends too early: ${EXPECTED[next]} is expected`, bytes, length);
}

/** Why bytes are not one acceptable JSON document. */
export interface Refusal {
  readonly code: RefusalCode;
  readonly message: string;
}

type RefusalCode =
  | 'empty'
  | 'too_large'
  | 'too_many_values'
  | 'too_deep'
  | 'byte_order_mark'
  | 'not_utf8'
  | 'syntax'
  | 'trailing_bytes'
  | 'duplicate_key'
  | 'lone_surrogate'
  | 'not_finite'
  | 'unsafe_integer';

export interface JsonLimits {
  readonly bytesMax: number;
}

export const DEPTH_MAX = 64;

/** A document may hold one value per 16 bytes of its cap: enough for any honest one, too few for a flood of `[],[],…`. */
const BYTES_PER_VALUE = 16;

const OBJECT = 1;
const ARRAY = 2;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;

/** What may stand at the next position. */
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

/** The index after the closing quote of the string that opens at `start`. */
function stringEnd(bytes: Uint8Array, start: number): number | Refusal {
  let at = start + 1;
  for (;;) {
    while (ORDINARY[bytes[at] as number] === 1) at++;
    const byte = bytes[at];
    if (byte === QUOTE) return at + 1;
    if (byte === undefined) return refusal('syntax', 'A string has no closing quote', bytes, start);
    if (byte !== BACKSLASH) {
      return refusal('syntax', 'A string holds a control character that is not escaped', bytes, at);
    }
    const escaped = bytes[at + 1];
    if (escaped === 0x75 /* u */) {
      const unit = hex4(bytes, at + 2);
      if (unit < 0) return refusal('syntax', 'A \\u escape needs four hexadecimal digits', bytes, at);
      if (unit >= 0xd800 && unit <= 0xdfff) {
        const isPair =
          unit <= 0xdbff &&
          bytes[at + 6] === BACKSLASH &&
          bytes[at + 7] === 0x75 &&
          isLowSurrogate(hex4(bytes, at + 8));
        if (!isPair) return refusal('lone_surrogate', 'A string holds half of a surrogate pair', bytes, at);
        at += 6;
      }
      at += 6;
    } else if (escaped !== undefined && ESCAPES.includes(escaped)) {
      at += 2;
    } else {
      return refusal('syntax', 'A string holds an escape that JSON does not know', bytes, at);
    }
  }
}

/** 1 for every byte that may stand in a string and means only itself. */
const ORDINARY = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH),
);

const ESCAPES = Buffer.from('"\\/bfnrt');

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

function hex4(bytes: Uint8Array, start: number): number {
  let unit = 0;
  for (let at = start; at < start + 4; at++) {
    const byte = bytes[at] ?? 0;
    let digit: number;
    if (byte >= ZERO && byte <= NINE) digit = byte - ZERO;
    else if (byte >= 0x61 && byte <= 0x66) digit = byte - 0x57;
    else if (byte >= 0x41 && byte <= 0x46) digit = byte - 0x37;
    else return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

/** The index after the number that begins at `start`; numbers that a double cannot hold are refused. */
function numberEnd(bytes: Uint8Array, start: number): number | Refusal {
  let at = bytes[start] === MINUS ? start + 1 : start;
  const first = bytes[at];
  const whole = digitsEnd(bytes, at);
  if (first === 0x49 /* I */) return refusal('not_finite', 'NaN and Infinity are not JSON', bytes, start);
  if (whole === at || (first === ZERO && whole > at + 1))
    return refusal('syntax', 'A number is not written as JSON', bytes, start);
  at = whole;
  let isInteger = true;
  if (bytes[at] === DOT) {
    isInteger = false;
    const end = digitsEnd(bytes, at + 1);
    if (end === at + 1) return refusal('syntax', 'A number is not written as JSON', bytes, start);
    at = end;
  }
  if (bytes[at] === 0x65 || bytes[at] === 0x45 /* e E */) {
    isInteger = false;
    const sign = bytes[at + 1];
    const digits = sign === 0x2b || sign === MINUS ? at + 2 : at + 1;
    const end = digitsEnd(bytes, digits);
    if (end === digits) return refusal('syntax', 'A number is not written as JSON', bytes, start);
    at = end;
  }
  if (isInteger && at - start <= 15) return at;
  return numberTrouble(bytes, start, at, isInteger) ?? at;
}

/**
 * Canonical JSON writes whole numbers below 1e21 as plain digits, so any value from 2^53 up to there is refused
 * however it was written: else a document could be accepted and its own canonical bytes refused.
 */
function numberTrouble(bytes: Uint8Array, start: number, end: number, isInteger: boolean): Refusal | undefined {
  const value = Math.abs(
    end - start > 400 && isInteger ? Number.POSITIVE_INFINITY : Number(textOf(bytes.subarray(start, end))),
  );
  if (isInteger && value > Number.MAX_SAFE_INTEGER) {
    return refusal('unsafe_integer', 'An integer is beyond 2^53−1 and would be rounded', bytes, start);
  }
  if (value === Number.POSITIVE_INFINITY)
    return refusal('not_finite', 'A number is too large to be finite', bytes, start);
  if (value > Number.MAX_SAFE_INTEGER && value < 1e21) {
    return refusal('unsafe_integer', 'An integer is beyond 2^53−1 and would be rounded', bytes, start);
  }
  return undefined;
}

function digitsEnd(bytes: Uint8Array, start: number): number {
  let at = start;
  for (;;) {
    const byte = bytes[at];
    if (byte === undefined || byte < ZERO || byte > NINE) return at;
    at++;
  }
}

const WORDS = ['true', 'false', 'null'];

function wordEnd(bytes: Uint8Array, start: number, next: number): number | Refusal {
  for (const word of WORDS) {
    const end = start + word.length;
    if (bytes[start] === word.charCodeAt(0) && textOf(bytes.subarray(start, end)) === word) return end;
  }
  const rest = textOf(bytes.subarray(start, start + 9));
  if (/^(NaN|Infinity)/.test(rest)) return refusal('not_finite', 'NaN and Infinity are not JSON', bytes, start);
  return unexpected(bytes, start, next);
}

function unexpected(bytes: Uint8Array, at: number, next: number): Refusal {
  if (next === NEXT.nothing) return refusal('trailing_bytes', 'More bytes follow the document', bytes, at);
  return refusal('syntax', `Something else stands where ${EXPECTED[next]} is expected`, bytes, at);
}

export function textOf(bytes: Uint8Array): string {
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return buffer.toString('utf8');
}

function refusal(code: RefusalCode, message: string, bytes: Uint8Array, at: number): Refusal {
  let line = 1;
  let lineStart = 0;
  for (let index = 0; index < at; index++) {
    if (bytes[index] === 0x0a) {
      line++;
      lineStart = index + 1;
    }
  }
  return { code, message: `${message} (line ${line}, byte ${at - lineStart + 1}).` };
}
