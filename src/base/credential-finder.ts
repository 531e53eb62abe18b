import { BASE64, isOf, type Match, startsAt } from './credential-bytes.ts';
import { urlPassword } from './credential-forms.ts';
import { CREDENTIALS } from './credentials.ts';
import type { Finder, FoundSecret } from './finder.ts';
import { Needles } from './needles.ts';

/** Finds well-known credentials. One search finds the prefixes of all forms; then each form checks the rest. */
class TokenFinder implements Finder {
  find(bytes: Buffer, from: number, canGrow: boolean): FoundSecret | undefined {
    return findToken(bytes, from, canGrow);
  }

  holdAt(bytes: Buffer, from: number): number {
    for (let at = Math.max(from, bytes.length - anchors().needles.longest + 1); at < bytes.length; at++) {
      if (anchors().needles.beginsAt(bytes, at)) return at;
    }
    return bytes.length;
  }
}

/** Finds passwords in URLs by the @ after them, which is rare. */
class AddressFinder implements Finder {
  find(bytes: Buffer, from: number, canGrow: boolean): FoundSecret | undefined {
    return findAddress(bytes, from, canGrow);
  }

  holdAt(bytes: Buffer): number {
    return bytes.length;
  }
}

export const CREDENTIAL_FINDERS: readonly Finder[] = [new TokenFinder(), new AddressFinder()];

/**
 * The first credential with a fixed prefix. The prefix may already be masked as the end of the token before it:
 * `glpat-…-----BEGIN PRIVATE KEY-----`.
 */
function findToken(bytes: Buffer, from: number, canGrow: boolean): FoundSecret | undefined {
  const search = anchors().needles.over(bytes);
  for (let hit = search.next(Math.max(0, from - JOINED_BYTES)); hit; hit = search.next(hit.at + 1)) {
    const found = formAt(bytes, hit.at, from, canGrow);
    if (found) return found;
  }
  return undefined;
}

function findAddress(bytes: Buffer, from: number, canGrow: boolean): FoundSecret | undefined {
  for (let at = bytes.indexOf(AT, from); at >= 0; at = bytes.indexOf(AT, at + 1)) {
    const scheme = schemeBefore(bytes, at);
    const found = scheme < 0 ? undefined : addressAt(bytes, scheme, from, canGrow);
    if (found) return found;
  }
  if (!canGrow) return undefined;
  // A URL at the end can have an incomplete password.
  const scheme = schemeBefore(bytes, bytes.length);
  return scheme < 0 ? undefined : addressAt(bytes, scheme, from, canGrow);
}

/** The start of `x://` before `place`, if it is near enough and without a space in between; otherwise -1. */
function schemeBefore(bytes: Buffer, place: number): number {
  const least = Math.max(1, place - ADDRESS_MAX);
  for (let at = place - 1; at > least && (bytes[at] as number) > SPACE && bytes[at] !== AT; at--) {
    if (bytes[at] === SLASH && startsAt(bytes, at - 2, '://') && isOf(bytes, at - 3, BASE64)) return at - 3;
  }
  return -1;
}

function addressAt(bytes: Buffer, at: number, from: number, canGrow: boolean): FoundSecret | undefined {
  return foundBy(urlPassword.match(bytes, at), urlPassword.kind, at, from, canGrow);
}

function formAt(bytes: Buffer, at: number, from: number, canGrow: boolean): FoundSecret | undefined {
  let best: FoundSecret | undefined;
  for (const credential of anchors().forms.get(bytes.readUInt32BE(at)) ?? []) {
    const found = foundBy(credential.match(bytes, at), credential.kind, at, from, canGrow);
    if (found && found.kind === undefined) return found;
    if (found && (!best || found.end > best.end)) best = found;
  }
  return best;
}

/** Holds back an incomplete credential from the start of its form. Otherwise the form could not be recognized later. */
function foundBy(
  match: Match | undefined,
  kind: string,
  begin: number,
  from: number,
  canGrow: boolean,
): FoundSecret | undefined {
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
  /** By their first four bytes as a number. */
  readonly forms: ReadonlyMap<number, readonly (typeof CREDENTIALS)[number][]>;
}

let made: Anchors | undefined;

/** Built on first use, because most commands mask nothing. */
function anchors(): Anchors {
  if (made) return made;
  const forms = new Map<number, (typeof CREDENTIALS)[number][]>();
  for (const credential of CREDENTIALS) {
    const keys = new Set(credential.anchors.map(anchor => Buffer.from(anchor).readUInt32BE(0)));
    for (const key of keys) {
      forms.set(key, [...(forms.get(key) ?? []), credential]);
    }
  }
  made = { needles: new Needles([...new Set(CREDENTIALS.flatMap(one => one.anchors))]), forms };
  return made;
}

/** No form prefix and no value name is longer than this. */
const JOINED_BYTES = 32;
/** The maximum number of bytes from a URL's scheme to its @. */
const ADDRESS_MAX = 310;
const AT = 0x40;
const SLASH = 0x2f;
const SPACE = 0x20;
