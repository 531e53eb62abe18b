/** The bytes of a credential. `isOpen`: more bytes could complete or extend it. */
export interface Match {
  readonly from: number;
  readonly to: number;
  readonly isOpen: boolean;
}

/** The sets of bytes in well-known credentials, one bit each. */
export const ALNUM = 1;
export const LOW_LINE = 2;
export const DASH = 4;
/** `.` and `~`. */
export const DOT = 8;
/** `+` and `/`, as in standard base64. */
export const PLUS = 16;
const EQUALS = 32;
/** Other characters that occur in passwords. */
export const MARKS = 64;
export const UPPER = 128;

export const WORD = ALNUM | LOW_LINE;
export const WORD_DASH = WORD | DASH;
export const BASE64 = ALNUM | PLUS | EQUALS;
export const TOKEN = WORD_DASH | DOT | PLUS | EQUALS;

const SETS = new Uint8Array(256);
for (const [set, letters] of [
  [ALNUM, 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'],
  [LOW_LINE, '_'],
  [DASH, '-'],
  [DOT, '.~'],
  [PLUS, '+/'],
  [EQUALS, '='],
  [MARKS, ':%!*&?#$(){}^|@'],
  [UPPER, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'],
] as const) {
  for (const letter of letters) SETS[letter.charCodeAt(0)] = (SETS[letter.charCodeAt(0)] as number) | set;
}

export function isIn(byte: number, sets: number): boolean {
  return ((SETS[byte] as number) & sets) !== 0;
}

/** Whether the byte at `at` exists and belongs to a set. */
export function isOf(bytes: Buffer, at: number, sets: number): boolean {
  return at >= 0 && at < bytes.length && isIn(bytes[at] as number, sets);
}

/**
 * The end of a sequence of bytes in a set. A mask, even an incomplete one, is part of it, so that no bytes around it
 * remain.
 */
export function endOf(bytes: Buffer, from: number, sets: number, lengthMax: number): number {
  const last = Math.min(bytes.length, from + lengthMax);
  let at = from;
  while (at < last) {
    const byte = bytes[at] as number;
    if (((SETS[byte] as number) & sets) !== 0) at++;
    else if (byte === OPENING && at > from && (startsAt(bytes, at, MASK) || beginsAt(bytes, at, MASK)))
      at += MASK.length;
    else break;
  }
  return Math.min(at, bytes.length);
}

export function startsAt(bytes: Buffer, at: number, text: string): boolean {
  if (at < 0 || at + text.length > bytes.length) return false;
  for (let index = 0; index < text.length; index++) if (bytes[at + index] !== text.charCodeAt(index)) return false;
  return true;
}

/** Whether the bytes from `at` to the end are a proper prefix of a text. */
export function beginsAt(bytes: Buffer, at: number, text: string): boolean {
  const length = bytes.length - at;
  return length < text.length && startsAt(bytes, at, text.slice(0, length));
}

/**
 * Whether a word can start here: not after a word character, unless that ends an escape such as `\n`, `%22`, `\u0022` or a
 * terminal color.
 */
export function canBegin(bytes: Buffer, at: number, sets = WORD): boolean {
  if (!isOf(bytes, at - 1, sets)) return true;
  const [first, second] = [bytes[at - 1], bytes[at - 2]];
  if (second === BACKSLASH && (first === 0x6e || first === 0x72 || first === 0x74)) return true;
  if (bytes[at - 3] === PERCENT || bytes[at - 4] === BACKSLASH) return isOf(bytes, at - 2, ALNUM);
  if (bytes[at - 6] === BACKSLASH && bytes[at - 5] === 0x75) return true;
  if (first !== 0x6d) return false;
  let back = at - 2;
  while (back > at - COLOUR_MAX && (bytes[back] === SEMICOLON || isDigit(bytes[back] as number))) back--;
  return bytes[back] === OPENING;
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

/** A digit or an uppercase letter after the first byte suggests a key rather than a word. */
export function isMixed(bytes: Buffer, from: number, to: number): boolean {
  for (let at = from + 1; at < to; at++) if (isOf(bytes, at, UPPER)) return true;
  return false;
}

/** Replaces masked bytes. */
export const MASK = '[masked]';

const OPENING = 0x5b;
const BACKSLASH = 0x5c;
const PERCENT = 0x25;
const SEMICOLON = 0x3b;
const COLOUR_MAX = 16;
