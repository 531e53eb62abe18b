import { hostPathIn } from '../../base/path.ts';

/** A part of a message that end users must not see. */
export interface Unsafe {
  readonly from: number;
  readonly to: number;
  readonly what: 'path' | 'value' | 'doubt';
  /** False if the part may be harmless. */
  readonly isSure: boolean;
}

/**
 * The parts of a message that may be unsafe: values after names such as `password`, long mixes of letters and digits,
 * and paths and URLs, except relative paths, plain URLs and paths in the sandbox.
 */
export function unsafeParts(text: string): Unsafe[] {
  const parts = [...valuesIn(text), ...pathsIn(text), ...mixturesIn(text)].sort((a, b) => a.from - b.from);
  const apart: Unsafe[] = [];
  for (const part of parts) {
    const last = apart.at(-1);
    if (!last || part.from >= last.to) apart.push(part);
    else if (part.to > last.to || part.isSure)
      apart[apart.length - 1] = { ...last, to: Math.max(last.to, part.to), isSure: last.isSure || part.isSure };
  }
  return apart;
}

/** Values that follow the name of a secret. */
function* valuesIn(text: string): Generator<Unsafe> {
  for (const match of text.matchAll(NAMED)) {
    const { assigned, told } = match.groups ?? {};
    const value = assigned ?? told ?? '';
    const to = match.index + match[0].length;
    // `password is wrong` is harmless; `password is hunter2` is not.
    if (assigned === undefined && /^\p{L}+[.,;:!?]*$/u.test(value)) continue;
    if (/^\[(?:removed|masked)\]?/.test(value)) continue;
    yield { from: to - value.length, to, what: 'value', isSure: assigned !== undefined };
  }
}

const NAMES =
  'pass(?:word|wd|phrase|code)?|pwd|secret|token|api[_ -]?key|access[_ -]?key|secret[_ -]?key|private[_ -]?key|account[_ -]?key|credentials?|authorization|cookie|session[_ -]?id|signature|otp|pin';

/** A value follows its name after `=`, `:` or `=>`, or after white space, possibly with a word such as `is`. */
const NAMED = new RegExp(
  `(?<![\\p{L}])(?:${NAMES})(?:[_-]?[a-z0-9]{1,12})?["'\`\\]]{0,2}(?:\\s{0,3}(?:=>|[=:])\\s{0,3}(?:Bearer |Basic )?["'\`]{0,2}(?<assigned>[^\\s"'\`<>]{1,4000})|\\s{1,3}(?:is|was|of|to)?\\s{0,3}["'\`]{0,1}(?<told>[^\\s"'\`<>]{1,4000}))`,
  'giu',
);

/** Pieces with a path separator, except harmless ones. */
function* pathsIn(text: string): Generator<Unsafe> {
  let afterPath = -1;
  for (const match of text.matchAll(/[^\s"'`<>(){}[\],;|]+/gu)) {
    const separator = match[0].search(/[/\\]/);
    if (separator < 0) continue;
    // In path=/data/x, the path starts after the equals sign.
    const from = match.index + match[0].lastIndexOf('=', separator) + 1;
    const end = match.index + match[0].length;
    const piece = text.slice(from, end).replace(/[.,:!?…]{1,9}$/, '');
    const before = text[from - 1];
    // A name with a space continues in the next piece.
    if (from !== afterPath && isHarmless(piece, before)) continue;
    const closing = QUOTES.has(before ?? '') ? text.indexOf(before as string, from) : -1;
    const to = closing > from && closing - from < PATH_MAX ? closing : from + piece.length;
    afterPath = end + 1;
    yield { from, to, what: 'path', isSure: isSurely(piece) };
  }
}

const QUOTES: ReadonlySet<string> = new Set(['"', "'", '`']);
const PATH_MAX = 4_000;

function isHarmless(piece: string, before: string | undefined): boolean {
  if (hostPathIn(piece) !== undefined) return false;
  if (piece === '/' || piece === '\\' || piece === '//') return true;
  // A closing HTML tag.
  if (before === '<' && /^\/[A-Za-z][A-Za-z0-9-]{0,20}$/.test(piece)) return true;
  const web = /^https?:\/\/[A-Za-z0-9.-]{1,100}(?::\d{1,5})?(?<path>\/.*)?$/s.exec(piece);
  const inside = web ? (web.groups?.['path'] ?? '/').slice(1) : /^\/work(?=\/|$)/.test(piece) ? piece.slice(6) : piece;
  if (inside === '') return true;
  const segments = inside.replace(/^\.\/|\/$/g, '').split('/');
  return segments.every(segment => segment !== '..' && SEGMENT.test(segment));
}

const SEGMENT = /^[\p{L}\p{M}\p{N}_@+.,%*#&-]{1,80}$/u;

/** Host roots, home folders and file names. A bare route such as /api/v1 may be harmless. */
function isSurely(piece: string): boolean {
  if (hostPathIn(piece) !== undefined || /^(?:~|file:|[A-Za-z]:[\\/]|\\\\)/i.test(piece)) return true;
  return piece.startsWith('/') && /\.[A-Za-z][A-Za-z0-9]{0,7}$/.test(piece);
}

/** Keys, hashes and encoded bytes, but not identifiers with short parts. */
function* mixturesIn(text: string): Generator<Unsafe> {
  for (const { 0: piece, index } of text.matchAll(/[A-Za-z0-9_+=-]{21,4000}/g)) {
    const isMixed = piece.split(/[_-]/).some(part => part.length > 12 && /\d/.test(part) && /[A-Za-z]/.test(part));
    if (isMixed) yield { from: index, to: index + piece.length, what: 'doubt', isSure: false };
  }
}
