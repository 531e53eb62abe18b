import { ALNUM, BASE64, beginsAt, DASH, isIn, isOf, LOW_LINE, type Match, startsAt } from './credential-bytes.ts';
import { urlPassword } from './credential-forms.ts';
import { privateKey } from './credential-pem.ts';
import { ANCHOR_LENGTH, CREDENTIALS } from './credentials.ts';
import type { Finder, Found } from './finder.ts';
import { Needles } from './needles.ts';
import { RUN_BYTES, RunScanner } from './run-scanner.ts';

/**
 * Finds well-known credentials. Almost all of a text is passed over: a credential has many letters without a space between
 * them. Only around those the first letters of all forms are looked for, then each by its form.
 */
class TokenFinder implements Finder {
  find(bytes: Buffer, from: number, canGrow: boolean): Found | undefined {
    return findToken(bytes, from, canGrow);
  }

  holdAt(bytes: Buffer, from: number): number {
    for (let at = Math.max(from, bytes.length - ANCHOR_LENGTH + 1); at < bytes.length; at++) {
      if (anchors().needles.beginsAt(bytes, at)) return at;
    }
    return bytes.length;
  }
}

/** Finds passwords in addresses by the @ after them, which is rare. */
class AddressFinder implements Finder {
  find(bytes: Buffer, from: number, canGrow: boolean): Found | undefined {
    return findAddress(bytes, from, canGrow);
  }

  holdAt(bytes: Buffer): number {
    return bytes.length;
  }
}

/** Finds private keys by the end of their first line: its letters are rarer than its dashes. */
class KeyFinder implements Finder {
  find(bytes: Buffer, from: number, canGrow: boolean): Found | undefined {
    for (let at = bytes.indexOf(KEY_TITLE, from); at >= 0; at = bytes.indexOf(KEY_TITLE, at + 1)) {
      const found = keyBefore(bytes, at, from, canGrow);
      if (found) return found;
    }
    return canGrow ? keyBefore(bytes, bytes.length, from, canGrow) : undefined;
  }

  holdAt(bytes: Buffer, from: number): number {
    for (let at = Math.max(from, bytes.length - KEY_BEGIN.length + 1); at < bytes.length; at++) {
      if (beginsAt(bytes, at, KEY_BEGIN)) return at;
    }
    return bytes.length;
  }
}

/** A key whose first line begins shortly before a place. */
function keyBefore(bytes: Buffer, place: number, from: number, canGrow: boolean): Found | undefined {
  const first = Math.max(from, place - KEY_TITLE_AFTER);
  const begin = bytes.subarray(first, place).lastIndexOf(KEY_BEGIN);
  if (begin < 0) return undefined;
  return foundBy(privateKey.match(bytes, first + begin), privateKey.kind, first + begin, from, canGrow);
}

export const CREDENTIAL_FINDERS: readonly Finder[] = [new TokenFinder(), new AddressFinder(), new KeyFinder()];

/** The first credential whose form begins with fixed letters. */
function findToken(bytes: Buffer, from: number, canGrow: boolean): Found | undefined {
  const runs = new RunScanner(bytes);
  let searched = from;
  for (let at = from; at < bytes.length; ) {
    const begin = runs.next(at);
    // More letters may follow those at the end, and make a credential of what stands before them.
    if (begin < 0 && !canGrow) return undefined;
    const end = begin < 0 ? bytes.length : endOfRun(bytes, begin);
    const first = Math.max(searched, (begin < 0 ? Math.max(at, end - RUN_BYTES) : begin) - BEFORE_BYTES);
    const found = formIn(bytes, { first, begin: begin < 0 ? end : begin, end }, from, canGrow);
    if (found) return found;
    searched = end;
    at = end;
  }
  return undefined;
}

/** A form begins near the beginning of a run, or in it after a sign: within a word, none does. */
function formIn(
  bytes: Buffer,
  { first, begin, end }: { readonly first: number; readonly begin: number; readonly end: number },
  from: number,
  canGrow: boolean,
): Found | undefined {
  const near = Math.min(end, begin + ESCAPE_BYTES);
  const { needles } = anchors();
  for (let hit = needles.find(bytes, first, near); hit; hit = needles.find(bytes, hit.at + 1, near)) {
    const found = formAt(bytes, hit.at, from, canGrow);
    if (found) return found;
  }
  const last = Math.min(end, bytes.length - ANCHOR_LENGTH + 1);
  for (let at = Math.max(first, near); at < last; at++) {
    if (SIGN[bytes[at - 1] as number] !== 1) continue;
    const found = formAt(bytes, at, from, canGrow);
    if (found) return found;
  }
  return undefined;
}

/** The end of a run, or of its first part: what is found in it is masked before the next part is read. */
function endOfRun(bytes: Buffer, begin: number): number {
  const last = Math.min(bytes.length, begin + RUN_BYTES_MAX);
  let end = begin + RUN_BYTES;
  while (end < last && RUN[bytes[end] as number] === 1) end++;
  return end;
}

const RUN_BYTES_MAX = 512;

/** The first address with a password. */
function findAddress(bytes: Buffer, from: number, canGrow: boolean): Found | undefined {
  for (let at = bytes.indexOf(AT, from); at >= 0; at = bytes.indexOf(AT, at + 1)) {
    const scheme = schemeBefore(bytes, at);
    const found = scheme < 0 ? undefined : addressAt(bytes, scheme, from, canGrow);
    if (found) return found;
  }
  if (!canGrow) return undefined;
  // An address at the end may be one with a password that is not whole yet.
  const scheme = schemeBefore(bytes, bytes.length);
  return scheme < 0 ? undefined : addressAt(bytes, scheme, from, canGrow);
}

/** Where `x://` begins before a place, if it is near enough and no space stands between. */
function schemeBefore(bytes: Buffer, place: number): number {
  const least = Math.max(1, place - ADDRESS_MAX);
  for (let at = place - 1; at > least && (bytes[at] as number) > SPACE && bytes[at] !== AT; at--) {
    if (bytes[at] === SLASH && startsAt(bytes, at - 2, '://') && isOf(bytes, at - 3, BASE64)) return at - 3;
  }
  return -1;
}

function addressAt(bytes: Buffer, at: number, from: number, canGrow: boolean): Found | undefined {
  return foundBy(urlPassword.match(bytes, at), urlPassword.kind, at, from, canGrow);
}

function formAt(bytes: Buffer, at: number, from: number, canGrow: boolean): Found | undefined {
  let best: Found | undefined;
  for (const credential of anchors().forms.get(bytes.readUInt32BE(at)) ?? []) {
    const found = foundBy(credential.match(bytes, at), credential.kind, at, from, canGrow);
    if (found && found.kind === undefined) return found;
    if (found && (!best || found.end > best.end)) best = found;
  }
  return best;
}

/** What is not whole yet is held back from where its form begins, or the form would not be known again. */
function foundBy(
  match: Match | undefined,
  kind: string,
  begin: number,
  from: number,
  canGrow: boolean,
): Found | undefined {
  if (!match) return undefined;
  if (match.isOpen && canGrow) {
    const at = Math.max(from, Math.min(begin, match.from));
    return { at, end: at, kind: undefined };
  }
  const at = Math.max(from, match.from);
  return match.to > at ? { at, end: match.to, kind } : undefined;
}

interface Anchors {
  readonly needles: Needles;
  /** By four letters as a number. */
  readonly forms: ReadonlyMap<number, readonly (typeof CREDENTIALS)[number][]>;
}

let made: Anchors | undefined;

/** Made when they are first needed: most commands mask nothing. */
function anchors(): Anchors {
  if (made) return made;
  const forms = new Map<number, (typeof CREDENTIALS)[number][]>();
  for (const credential of CREDENTIALS) {
    for (const anchor of new Set(credential.anchors)) {
      const key = Buffer.from(anchor).readUInt32BE(0);
      forms.set(key, [...(forms.get(key) ?? []), credential]);
    }
  }
  made = { needles: new Needles([...new Set(CREDENTIALS.flatMap(one => one.anchors))]), forms };
  return made;
}

/** What a run is made of: letters of words and of base64. */
const RUN = Uint8Array.from({ length: 256 }, (_, byte) => Number(isIn(byte, BASE64 | LOW_LINE | DASH)));
/** Those of them that are no letter or digit. */
const SIGN = RUN.map((isRun, byte) => isRun & Number(!isIn(byte, ALNUM)));
/** An escape ends in letters, which belong to the run: `u0022`, or the number of a colour. */
const ESCAPE_BYTES = 8;
/** The first letters of a form stand at most so far before them. */
const BEFORE_BYTES = 16;
const KEY_BEGIN = '-----BEGIN';
const KEY_TITLE = 'PRIVATE KEY';
const KEY_TITLE_AFTER = 64;
/** An address has no more bytes from its scheme to its @. */
const ADDRESS_MAX = 310;
const AT = 0x40;
const SLASH = 0x2f;
const SPACE = 0x20;
