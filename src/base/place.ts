import { clip } from './clip.ts';
import { printable } from './printable.ts';

/** The path of a value in a document: `a.b[0]`, or `a["odd key"]` for keys that are not plain words. */
export function placeOf(parent: string, key: PropertyKey): string {
  if (typeof key === 'number') return `${parent}[${key}]`;
  const name = String(key);
  if (!WORD.test(name)) return `${parent}["${printable(clip(name, KEY_BYTES_MAX).text).replaceAll('"', '\\"')}"]`;
  return parent === '' ? name : `${parent}.${name}`;
}

const WORD = /^[\p{L}_$-][\p{L}\p{N}_$-]{0,79}$/u;

const KEY_BYTES_MAX = 60;

/** Whether one path equals or is inside another: `a.b[0]` is within `a.b` and `a`. */
export function isWithin(place: string, around: string): boolean {
  if (!place.startsWith(around)) return false;
  const next = place[around.length];
  return next === undefined || next === '.' || next === '[';
}
