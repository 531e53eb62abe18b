import { BACKSLASH, SLASHES_MAX, SpeltOut } from './spelt-out.ts';

/** Decoded bytes, with a mapping to their positions in the original. */
export interface Spelling {
  readonly bytes: Buffer;
  /** The position of a decoded byte in the original; for a byte of an escape, the start of the escape. */
  writtenAt(at: number): number;
  /** Where the decoded byte before `end` ends in the original. */
  writtenEnd(end: number): number;
  /** The first decoded byte that does not start before this position of the original. */
  meantAt(place: number): number;
  /** The start of an incomplete escape in the original, or the end of the original. */
  readonly openAt: number;
}

/**
 * Decodes escaped characters: `\u0041` and `\x41`, even with several backslashes, `%41`, and `&#65;`. A secret's forms
 * include its usual escapes; the escapes here can apply to any subset of its characters.
 */
export function spellingsOf(bytes: Buffer, around: number): Spelling[] {
  const found: Spelling[] = [];
  const last = bytes[bytes.length - 1];
  if (last === BACKSLASH || bytes.includes('\\u') || bytes.includes('\\x')) {
    found.push(spelling(bytes, BACKSLASH, backslash, around));
    // Differs only in the meaning of two consecutive backslashes.
    if (bytes.includes('\\\\')) found.push(spelling(bytes, BACKSLASH, inJson, around));
  }
  if (bytes.includes(PERCENT)) found.push(spelling(bytes, PERCENT, percent, around));
  if (last === AMPERSAND || bytes.includes('&#')) found.push(spelling(bytes, AMPERSAND, entity, around));
  return found;
}

/** An escape: its length and its code. Null if it is incomplete. */
interface Escape {
  readonly length: number;
  readonly code: number;
  /** The code is a byte, not a code point. */
  readonly isByte?: true;
}

type ReadEscape = (bytes: Buffer, at: number) => Escape | null | undefined;

/** Copies only the bytes near an escape, because all others are unchanged. */
function spelling(written: Buffer, first: number, read: ReadEscape, around: number): Spelling {
  const meant = new Meant(written);
  const nearby = first === BACKSLASH ? new SpeltOut(written, around) : undefined;
  const next = (from: number): number => nextOf(written, first, nearby?.from(from) ?? from);
  let openAt = written.length;
  for (let at = next(0); at >= 0; ) {
    const escape = read(written, at);
    if (escape === null) {
      openAt = at;
      break;
    }
    if (escape) {
      meant.plain(at, around);
      meant.escape(at, escape);
      at = next(at + escape.length);
    } else at = next(at + 1);
  }
  return meant.end(openAt, around);
}

/** For escapes close together, a loop is faster than a call for each. */
function nextOf(bytes: Buffer, byte: number, from: number): number {
  const near = Math.min(bytes.length, from + NEAR_BYTES);
  for (let at = from; at < near; at++) if (bytes[at] === byte) return at;
  return near < bytes.length ? bytes.indexOf(byte, near) : -1;
}

const NEAR_BYTES = 16;

/** Builds the decoded bytes. */
class Meant {
  readonly #written: Buffer;
  #bytes: Buffer = NOTHING;
  /** The start and end of each escape or gap, in the decoded bytes and in the original. */
  readonly #marks: number[] = [];
  #length = 0;
  #from = 0;

  constructor(written: Buffer) {
    this.#written = written;
  }

  plain(to: number, around: number): void {
    const gap = to - this.#from - (this.#from === 0 ? around : 2 * around);
    if (gap <= GAP_MIN) return this.#copy(to);
    if (this.#from > 0) this.#copy(this.#from + around);
    this.#mark(GAP_BYTE, to - around);
    this.#copy(to);
  }

  escape(at: number, { length, code, isByte }: Escape): void {
    if (isByte || code < 0x80) return this.#mark(code, at + length);
    const begin = this.#length;
    this.#makeRoom(UTF8_BYTES_MAX);
    this.#length += this.#bytes.write(String.fromCodePoint(code), this.#length);
    this.#marks.push(begin, this.#length, at, at + length);
    this.#from = at + length;
  }

  end(openAt: number, around: number): Spelling {
    const { length } = this.#written;
    const isFar = this.#from + around < Math.min(openAt, length) - GAP_MIN;
    this.#copy(isFar ? this.#from + around : length);
    if (isFar) this.#mark(GAP_BYTE, length);
    return new Marked(this.#bytes.subarray(0, this.#length), this.#marks, openAt);
  }

  /** Writes one byte in place of everything up to `to`. */
  #mark(byte: number, to: number): void {
    this.#makeRoom(1);
    this.#bytes[this.#length] = byte;
    this.#marks.push(this.#length, this.#length + 1, this.#from, to);
    this.#length++;
    this.#from = to;
  }

  #makeRoom(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(MEANT_BYTES_MIN, 2 * (this.#length + more)));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }

  #copy(to: number): void {
    this.#makeRoom(to - this.#from);
    if (to - this.#from > COPY_BYTES_MIN) {
      this.#length += this.#written.copy(this.#bytes, this.#length, this.#from, to);
    } else {
      for (let at = this.#from; at < to; at++) this.#bytes[this.#length++] = this.#written[at] as number;
    }
    this.#from = to;
  }
}

/** Most texts have few escapes, or none. */
const NOTHING = Buffer.alloc(0);
const MEANT_BYTES_MIN = 256;
const UTF8_BYTES_MAX = 4;
/** For fewer bytes, a loop is faster than a call. */
const COPY_BYTES_MIN = 128;
/** Never occurs in UTF-8. */
const GAP_BYTE = 0xff;
const GAP_MIN = 64;

class Marked implements Spelling {
  readonly bytes: Buffer;
  readonly openAt: number;
  readonly #marks: readonly number[];

  constructor(bytes: Buffer, marks: readonly number[], openAt: number) {
    this.bytes = bytes;
    this.#marks = marks;
    this.openAt = openAt;
  }

  writtenAt(at: number): number {
    const mark = this.#lastMark(0, at);
    if (mark < 0) return at;
    const end = this.#marks[mark + 1] as number;
    return at < end ? (this.#marks[mark + 2] as number) : (this.#marks[mark + 3] as number) + at - end;
  }

  writtenEnd(end: number): number {
    const mark = this.#lastMark(0, end - 1);
    if (mark < 0) return end;
    const last = this.#marks[mark + 1] as number;
    return (this.#marks[mark + 3] as number) + Math.max(0, end - last);
  }

  meantAt(place: number): number {
    const mark = this.#lastMark(2, place);
    if (mark < 0) return place;
    const [begin, end, writtenBegin, writtenEnd] = this.#marks.slice(mark, mark + 4) as [
      number,
      number,
      number,
      number,
    ];
    if (place === writtenBegin) return begin;
    return place < writtenEnd ? end : end + place - writtenEnd;
  }

  /** The last escape that starts at or before a position. */
  #lastMark(column: 0 | 2, place: number): number {
    let low = 0;
    let high = this.#marks.length / 4;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#marks[middle * 4 + column] as number) <= place) low = middle + 1;
      else high = middle;
    }
    return (low - 1) * 4;
  }
}

function backslash(bytes: Buffer, at: number): Escape | null | undefined {
  let letter = at + 1;
  while (bytes[letter] === BACKSLASH && letter < at + SLASHES_MAX) letter++;
  const kind = bytes[letter];
  if (kind === undefined) return letter - at < SLASHES_MAX ? null : undefined;
  const plain = PLAIN_ESCAPES.get(kind);
  if (plain !== undefined) return { length: letter + 1 - at, code: plain };
  if (kind !== 0x75 && kind !== 0x78) return undefined;
  const digits = kind === 0x75 ? 4 : 2;
  const code = hexAt(bytes, letter + 1, digits);
  if (code === undefined || code === null) return code;
  const length = letter + 1 + digits - at;
  if (kind === 0x78) return { length, code, isByte: true };
  if (code < 0xd800 || code > 0xdbff) return { length, code: code >= 0xdc00 && code <= 0xdfff ? 0xfffd : code };
  const low = backslashAgain(bytes, at + length);
  if (low === null) return null;
  if (low === undefined) return { length, code: 0xfffd };
  return { length: length + low.length, code: 0x10000 + ((code - 0xd800) << 10) + (low.code - 0xdc00) };
}

/** As in JSON, where two backslashes mean one. */
function inJson(bytes: Buffer, at: number): Escape | null | undefined {
  const next = bytes[at + 1];
  if (next === undefined) return null;
  return next === BACKSLASH ? { length: 2, code: BACKSLASH } : backslash(bytes, at);
}

/** The second half of a surrogate pair. */
function backslashAgain(bytes: Buffer, at: number): { length: number; code: number } | null | undefined {
  let letter = at;
  while (bytes[letter] === BACKSLASH && letter < at + SLASHES_MAX) letter++;
  if (letter >= bytes.length) return null;
  if (letter === at || bytes[letter] !== 0x75) return undefined;
  const code = hexAt(bytes, letter + 1, 4);
  if (code === undefined || code === null) return code;
  return code >= 0xdc00 && code <= 0xdfff ? { length: letter + 5 - at, code } : undefined;
}

function percent(bytes: Buffer, at: number): Escape | null | undefined {
  const code = hexAt(bytes, at + 1, 2);
  return code === null || code === undefined ? code : { length: 3, code, isByte: true };
}

function entity(bytes: Buffer, at: number): Escape | null | undefined {
  if (at + 1 >= bytes.length) return null;
  if (bytes[at + 1] !== 0x23) return undefined;
  const semicolon = bytes.subarray(at, at + ENTITY_MAX).indexOf(0x3b);
  if (semicolon < 0) return bytes.length - at < ENTITY_MAX ? null : undefined;
  const text = bytes.toString('latin1', at + 2, at + semicolon);
  const code = /^[xX][0-9a-fA-F]{1,6}$/.test(text)
    ? Number.parseInt(text.slice(1), 16)
    : /^\d{1,7}$/.test(text)
      ? Number(text)
      : undefined;
  if (code === undefined || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return undefined;
  return { length: semicolon + 1, code };
}

/** A number of `digits` hexadecimal digits; null if the bytes end too early. */
function hexAt(bytes: Buffer, at: number, digits: number): number | null | undefined {
  let code = 0;
  for (let index = 0; index < digits; index++) {
    const byte = bytes[at + index];
    if (byte === undefined) return null;
    const digit = HEX[byte] as number;
    if (digit === 255) return undefined;
    code = code * 16 + digit;
  }
  return code;
}

const HEX = new Uint8Array(256).fill(255);
for (let digit = 0; digit < 16; digit++) {
  HEX[digit.toString(16).charCodeAt(0)] = digit;
  HEX[digit.toString(16).toUpperCase().charCodeAt(0)] = digit;
}

const PERCENT = 0x25;
const AMPERSAND = 0x26;
const ENTITY_MAX = 12;

/** Other escapes with a backslash. */
const PLAIN_ESCAPES: ReadonlyMap<number, number> = new Map(
  Object.entries({ '"': '"', "'": "'", '/': '/', n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' }).map(
    ([letter, means]) => [letter.charCodeAt(0), means.charCodeAt(0)],
  ),
);
