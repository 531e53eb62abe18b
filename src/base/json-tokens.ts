import { type Refusal, refusal, utf8Text } from './json-refusal.ts';

export const QUOTE = 0x22;
const BACKSLASH = 0x5c;
export const MINUS = 0x2d;
const DOT = 0x2e;
export const ZERO = 0x30;
export const NINE = 0x39;

/** The index after the closing quote of the string at `start`. */
export function stringEnd(bytes: Uint8Array, start: number): number | Refusal {
  let at = start + 1;
  for (;;) {
    while (ORDINARY[bytes[at] as number] === 1) at++;
    const byte = bytes[at];
    if (byte === QUOTE) return at + 1;
    if (byte === undefined) return refusal('syntax', 'A string has no closing quote', bytes, start);
    if (byte !== BACKSLASH) {
      return refusal('syntax', 'A string contains an unescaped control character', bytes, at);
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
        if (!isPair) return refusal('lone_surrogate', 'A string contains a lone surrogate', bytes, at);
        at += 6;
      }
      at += 6;
    } else if (escaped !== undefined && ESCAPES.includes(escaped)) {
      at += 2;
    } else {
      return refusal('syntax', 'A string contains an escape that JSON does not support', bytes, at);
    }
  }
}

/** 1 for every byte that needs no escape in a string. */
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

/** The index after the number at `start`. Refuses integers that a double would round, and numbers that are not finite. */
export function numberEnd(bytes: Uint8Array, start: number): number | Refusal {
  let at = bytes[start] === MINUS ? start + 1 : start;
  const first = bytes[at];
  const whole = digitsEnd(bytes, at);
  if (first === 0x49 /* I */) return refusal('not_finite', 'NaN and Infinity are not JSON', bytes, start);
  if (whole === at || (first === ZERO && whole > at + 1))
    return refusal('syntax', 'A number is not valid JSON', bytes, start);
  at = whole;
  let isInteger = true;
  if (bytes[at] === DOT) {
    isInteger = false;
    const end = digitsEnd(bytes, at + 1);
    if (end === at + 1) return refusal('syntax', 'A number is not valid JSON', bytes, start);
    at = end;
  }
  if (bytes[at] === 0x65 || bytes[at] === 0x45 /* e E */) {
    isInteger = false;
    const sign = bytes[at + 1];
    const digits = sign === 0x2b || sign === MINUS ? at + 2 : at + 1;
    const end = digitsEnd(bytes, digits);
    if (end === digits) return refusal('syntax', 'A number is not valid JSON', bytes, start);
    at = end;
  }
  if (isInteger && at - start <= 15) return at;
  return numberTrouble(bytes, start, at, isInteger) ?? at;
}

/**
 * Refuses all values from 2^53 to 1e21, however they are written. Canonical JSON writes 1e20 as plain digits: if 1e20
 * were accepted, the canonical bytes of the same document would be refused.
 */
function numberTrouble(bytes: Uint8Array, start: number, end: number, isInteger: boolean): Refusal | undefined {
  const value = Math.abs(
    end - start > 400 && isInteger ? Number.POSITIVE_INFINITY : Number(utf8Text(bytes.subarray(start, end))),
  );
  if (isInteger && value > Number.MAX_SAFE_INTEGER) {
    return refusal('unsafe_integer', 'An integer exceeds 2^53−1 and would be rounded', bytes, start);
  }
  if (value === Number.POSITIVE_INFINITY)
    return refusal('not_finite', 'A number is too large to be finite', bytes, start);
  if (value > Number.MAX_SAFE_INTEGER && value < 1e21) {
    return refusal('unsafe_integer', 'An integer exceeds 2^53−1 and would be rounded', bytes, start);
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
