import { BASE64, beginsAt, endOf, isOf, type Match, startsAt, UPPER } from './credential-bytes.ts';

/** Private keys in PEM and PGP armor, complete or truncated, with real or escaped line ends. */
export const privateKey = {
  kind: 'private_key',
  anchors: ['-----BEGIN'],
  match(bytes: Buffer, from: number): Match | undefined {
    const word = from + '-----BEGIN'.length;
    let label = word;
    while (label < bytes.length && label < word + LABEL_MAX && (bytes[label] === SPACE || isOf(bytes, label, UPPER)))
      label++;
    if (label === bytes.length && label < word + LABEL_MAX) return { from, to: from, isOpen: true };
    const title = bytes.toString('latin1', word, label);
    if (!/PRIVATE KEY(?: BLOCK)?$/.test(title)) return undefined;
    const begin = label + RULE.length;
    if (!startsAt(bytes, label, RULE)) {
      return bytes.length < begin ? { from, to: from, isOpen: true } : undefined;
    }
    return keyAfter(bytes, from, begin);
  },
};

/** Matches up to the END line or, if that is missing, as far as the text looks like a key. */
function keyAfter(bytes: Buffer, from: number, begin: number): Match | undefined {
  const last = Math.min(bytes.length, begin + KEY_BYTES_MAX);
  // Stop at the next five dashes, so that a flood of BEGIN lines is read once.
  let at = begin;
  while (at < last && !(bytes[at] === DASH && startsAt(bytes, at, RULE)) && isInside(bytes[at] as number)) at++;
  if (at - begin >= KEY_BYTES_MIN && startsAt(bytes, at, '-----END')) {
    const title = at + '-----END'.length + LABEL_MAX;
    const rule = bytes.subarray(0, title + RULE.length).indexOf(RULE, at + RULE.length);
    if (rule >= 0) return { from, to: rule + RULE.length, isOpen: false };
    return { from, to: at + '-----END'.length, isOpen: bytes.length < title + RULE.length };
  }
  const isCut = at === bytes.length || beginsAt(bytes, at, '-----END');
  const isOpen = isCut && at < begin + KEY_BYTES_MAX;
  const to = linesAfter(bytes, begin, at);
  return to > begin ? { from, to, isOpen } : isOpen ? { from, to: from, isOpen } : undefined;
}

/** The end of the base64 lines. Only the last one can be short. */
function linesAfter(bytes: Buffer, begin: number, end: number): number {
  let to = begin;
  for (let at = begin; at < end; ) {
    while (at < end && isBetween(bytes, at)) at += bytes[at] === BACKSLASH ? 2 : 1;
    const lineEnd = endOf(bytes, at, BASE64, end - at);
    const length = lineEnd - at;
    if (length < LINE_MIN && (to === begin || length === 0)) break;
    to = lineEnd;
    if (length < LINE_MIN) break;
    at = lineEnd;
  }
  return Math.min(to, end);
}

function isBetween(bytes: Buffer, at: number): boolean {
  const byte = bytes[at] as number;
  const next = bytes[at + 1];
  return byte <= SPACE || (byte === BACKSLASH && (next === 0x6e || next === 0x72));
}

/** Bytes allowed in a key, including escaped line ends. A quote ends the surrounding string. */
function isInside(byte: number): boolean {
  return byte !== 0x22 && byte !== 0x27 && byte !== 0x3c && byte !== 0x7b && byte !== 0x60;
}

const RULE = '-----';
const SPACE = 0x20;
const DASH = 0x2d;
const BACKSLASH = 0x5c;
const LABEL_MAX = 40;
const LINE_MIN = 16;
const KEY_BYTES_MIN = 4;
const KEY_BYTES_MAX = 16 * 1024;
