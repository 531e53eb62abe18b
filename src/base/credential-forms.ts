import {
  ALNUM,
  BASE64,
  canBegin,
  endOf,
  isIn,
  isMixed,
  MARKS,
  MASK,
  type Match,
  startsAt,
  TOKEN,
  WORD_DASH,
} from './credential-bytes.ts';

/** Three base64 parts separated by dots. The first two are JSON objects. */
export const jsonWebToken = {
  kind: 'jwt',
  anchors: [...letters(WORD_DASH)].map(letter => `eyJ${letter}`),
  match(bytes: Buffer, at: number): Match | undefined {
    // This also saves time: no token starts inside a part.
    if (!canBegin(bytes, at, WORD_DASH)) return undefined;
    const head = endOf(bytes, at, WORD_DASH, PART_MAX);
    if (head - at < PART_MIN && head < bytes.length) return undefined;
    if (head >= bytes.length) return { from: at, to: at, isOpen: head - at < PART_MAX };
    if (bytes[head] !== DOT) return undefined;
    const body = endOf(bytes, head + 1, WORD_DASH, PART_MAX);
    if (body < bytes.length && (body - head <= PART_MIN || bytes[body] !== DOT)) return undefined;
    if (!startsAt(bytes, head + 1, 'eyJ'.slice(0, Math.max(0, bytes.length - head - 1)))) return undefined;
    if (body >= bytes.length) return { from: at, to: at, isOpen: true };
    const to = endOf(bytes, body + 1, WORD_DASH, PART_MAX);
    return { from: at, to, isOpen: to === bytes.length && to - body <= PART_MAX };
  },
};

const DOT = 0x2e;
const PART_MIN = 16;
const PART_MAX = 4_000;

/** `Bearer …` and `Basic …`, as in headers. */
export const authorization = {
  kind: 'authorization',
  anchors: ['Bear', 'bear', 'BEAR', 'Basi', 'basi', 'BASI'],
  match(bytes: Buffer, at: number): Match | undefined {
    if (!canBegin(bytes, at)) return undefined;
    const wordEnd = endOf(bytes, at, ALNUM, 7);
    // Most words end differently and need no decoding.
    if (wordEnd < bytes.length && bytes[wordEnd] !== SPACE) return undefined;
    const word = bytes.toString('latin1', at, wordEnd).toLowerCase();
    if (wordEnd === bytes.length) return isBeginning(word) ? { from: at, to: at, isOpen: true } : undefined;
    if (word !== 'bearer' && word !== 'basic') return undefined;
    const begin = wordEnd + 1;
    const to = endOf(bytes, begin, TOKEN, TOKEN_MAX);
    const isOpen = to === bytes.length && to - begin < TOKEN_MAX;
    if (to - begin < TOKEN_MIN || (to - begin < WORD_MAX && !isMixed(bytes, begin, to)))
      return isOpen ? { from: at, to: at, isOpen } : undefined;
    return { from: at, to, isOpen };
  },
};

function isBeginning(word: string): boolean {
  return 'bearer'.startsWith(word) || 'basic'.startsWith(word);
}

const SPACE = 0x20;
const TOKEN_MIN = 16;
const TOKEN_MAX = 4_000;
/** No ordinary word is this long. */
const WORD_MAX = 24;

/** The password in `scheme://user:password@host`, or the user if that is the token. */
export const urlPassword = {
  kind: 'url_password',
  anchors: [...letters(ALNUM)].map(letter => `${letter}://`),
  match(bytes: Buffer, at: number): Match | undefined {
    const begin = at + '?://'.length;
    const user = plainEnd(bytes, begin, USER_MAX, true);
    if (user === bytes.length) return user - begin < USER_MAX ? { from: at, to: at, isOpen: true } : undefined;
    if (bytes[user] === AT) {
      return user - begin >= TOKEN_MIN && isMixed(bytes, begin, user)
        ? { from: begin, to: user, isOpen: false }
        : undefined;
    }
    if (bytes[user] !== COLON || !isSecretFirst(bytes, user + 1)) return undefined;
    const to = plainEnd(bytes, user + 1, PASSWORD_MAX, false);
    if (to === bytes.length) return to - user <= PASSWORD_MAX ? { from: at, to: at, isOpen: true } : undefined;
    if (bytes[to] !== AT || to === user + 1) return undefined;
    return { from: startsAt(bytes, user + 1, 'x-oauth-basic@') ? begin : user + 1, to, isOpen: false };
  },
};

/** A password does not start like a template, a shell variable or a mask. */
function isSecretFirst(bytes: Buffer, at: number): boolean {
  if (startsAt(bytes, at, MASK)) return bytes[at + MASK.length] !== AT;
  return at >= bytes.length || !'$<[{*%'.includes(String.fromCharCode(bytes[at] as number));
}

function plainEnd(bytes: Buffer, from: number, lengthMax: number, isUser: boolean): number {
  const last = Math.min(bytes.length, from + lengthMax);
  let at = from;
  while (at < last && !isAfterPlain(bytes[at] as number, isUser)) at++;
  return at;
}

/** Spaces, quotes, brackets and URL delimiters. */
function isAfterPlain(byte: number, isUser: boolean): boolean {
  if (byte <= SPACE || byte === AT || byte === 0x2f || byte === 0x22 || byte === 0x27 || byte === 0x60) return true;
  if (byte === 0x3c || byte === 0x3e || byte === 0x5c) return true;
  return isUser && (byte === COLON || byte === 0x3f || byte === 0x23 || byte === 0x28 || byte === 0x29);
}

const AT = 0x40;
const COLON = 0x3a;
const USER_MAX = 100;
const PASSWORD_MAX = 200;

/** Keys in Azure connection strings, and passwords in database connection strings. */
export const connection = {
  kind: 'connection_string',
  anchors: ['Acco', 'acco', 'Shar', 'shar', ';Pas', ';pas', ';PAS', ';Pwd', ';pwd', ';PWD'],
  match(bytes: Buffer, at: number): Match | undefined {
    const equals = endOf(bytes, at + 1, ALNUM, NAME_MAX);
    if (equals === bytes.length && equals - at <= NAME_MAX) return { from: at, to: at, isOpen: true };
    if (bytes[equals] !== EQUAL) return undefined;
    const name = bytes.toString('latin1', at, equals).toLowerCase();
    const min = CONNECTION[name];
    if (min === undefined) return undefined;
    const begin = equals + 1;
    if (!isSecretFirst(bytes, begin)) return undefined;
    const to = endOf(bytes, begin, name.startsWith(';') ? TOKEN | MARKS : BASE64, VALUE_MAX);
    const isOpen = to === bytes.length && to - begin < VALUE_MAX;
    return to - begin < min ? (isOpen ? { from: at, to: at, isOpen } : undefined) : { from: begin, to, isOpen };
  },
};

const EQUAL = 0x3d;
const NAME_MAX = 24;
const VALUE_MAX = 500;
const CONNECTION: Readonly<Record<string, number>> = {
  accountkey: 30,
  sharedaccesskey: 30,
  ';password': 7,
  ';pwd': 12,
};

/** A value after its name: `AWS_SECRET_ACCESS_KEY=…`, `"secretAccessKey": "…"`, `//registry/:_authToken=…`. */
export function namedValue(
  kind: string,
  names: readonly string[],
  further: readonly string[],
  { sets, min, max }: { readonly sets: number; readonly min: number; readonly max: number },
) {
  return {
    kind,
    anchors: [...new Set(names.map(name => name.slice(0, 4)))],
    match(bytes: Buffer, at: number): Match | undefined {
      const nameEnd = endOf(bytes, at, WORD_DASH, NAME_MAX);
      const open: Match = { from: at, to: at, isOpen: true };
      if (nameEnd === bytes.length) return nameEnd - at < NAME_MAX ? open : undefined;
      const begin = valueAt(bytes, nameEnd);
      if (begin === undefined || !isNamed(bytes.toString('latin1', at, nameEnd), names, further)) return undefined;
      if (begin >= bytes.length) return open;
      if (!isSecretFirst(bytes, begin)) return undefined;
      const to = endOf(bytes, begin, sets, max + 1);
      const isOpen = to === bytes.length && to - begin <= max;
      if (to - begin < min) return isOpen ? open : undefined;
      return to - begin > max && min === max ? undefined : { from: begin, to, isOpen };
    },
  };
}

function isNamed(words: string, names: readonly string[], further: readonly string[]): boolean {
  if (further.length === 0) return names.includes(words);
  return words.toLowerCase().replaceAll(/[_-]/g, '') === [names[0]?.toLowerCase(), ...further].join('');
}

/** The start of the value after a name, `=`, `:` or `=>`, and optional quotes; undefined if there is none. */
function valueAt(bytes: Buffer, nameEnd: number): number | undefined {
  let at = skipped(bytes, nameEnd);
  if (at >= bytes.length) return at;
  if (bytes[at] !== EQUAL && bytes[at] !== COLON) return undefined;
  at++;
  if (bytes[at] === 0x3e) at++;
  return skipped(bytes, at);
}

/** Skips up to eight quotes, backslashes and spaces. */
function skipped(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && at < from + 8 && [SPACE, 0x22, 0x27, 0x5c].includes(bytes[at] as number)) at++;
  return at;
}

function* letters(sets: number): Generator<string> {
  for (let byte = 0x21; byte < 0x7f; byte++) if (isIn(byte, sets)) yield String.fromCharCode(byte);
}
