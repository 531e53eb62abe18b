import { JSON_DEPTH_MAX } from './json-refusal.ts';
import { placeOf } from './place.ts';

/**
 * RFC 8785: keys sorted by UTF-16 code unit, no white space, numbers as ECMAScript writes them.
 * Throws a TypeError on anything that is not plain JSON; check a value of unknown origin with `notJson` first.
 */
export function canonicalize(value: unknown): string {
  return write(value, 0);
}

/**
 * Like `canonicalize`, but in pieces, because building a large text as a whole needs several times its size in memory.
 */
export function* canonicalPieces(object: object): Generator<string> {
  let text = '{';
  let isFirst = true;
  for (const key of sortedKeys(object)) {
    const value = (object as Record<string, unknown>)[key];
    text += `${isFirst ? '' : ','}${writeString(key)}:`;
    isFirst = false;
    if (!Array.isArray(value)) {
      text += write(value, 1);
      continue;
    }
    text += '[';
    for (const [index, one] of value.entries()) {
      text += `${index > 0 ? ',' : ''}${write(one, 2)}`;
      if (text.length < PIECE_UNITS) continue;
      yield text;
      text = '';
    }
    text += ']';
  }
  yield `${text}}`;
}

const PIECE_UNITS = 65_536;

/** Whether `text` is the canonical form of the value parsed from it. */
export function isCanonical(value: unknown, text: string): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return canonicalize(value) === text;
  let at = 0;
  for (const piece of canonicalPieces(value)) {
    if (!text.startsWith(piece, at)) return false;
    at += piece.length;
  }
  return at === text.length;
}

/** The members of an object in canonical form and order, so that several hashes of its parts need only one pass. */
export function canonicalMembers(object: object): ReadonlyMap<string, string> {
  const members = new Map<string, string>();
  for (const key of sortedKeys(object)) {
    members.set(key, `${writeString(key)}:${write((object as Record<string, unknown>)[key], 1)}`);
  }
  return members;
}

/**
 * Like `canonicalMembers`, but sliced from the source text of the object at `starts`, in a third of the time. Undefined if the
 * text does not look canonical; it may still be, because JSON.parse moves number-like keys to the front.
 */
export function cutMembers(
  object: object,
  text: string,
  starts: readonly number[],
): ReadonlyMap<string, string> | undefined {
  const body = text.endsWith('\n') ? text.slice(0, -1) : text;
  // JSON.stringify writes strings and numbers as the RFC does, so only the key order needs a check.
  if (JSON.stringify(object) !== body || !isOrdered(object)) return undefined;
  const keys = Object.keys(object);
  const last = keys.length - 1;
  return new Map(
    keys.map((key, index) => [key, body.slice(starts[index], index === last ? -1 : (starts[index + 1] as number) - 1)]),
  );
}

function isOrdered(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.every(isOrdered);
  let previous: string | undefined;
  for (const key in value) {
    if (previous !== undefined && previous > key) return false;
    if (!isOrdered((value as Record<string, unknown>)[key])) return false;
    previous = key;
  }
  return true;
}

/** The canonical text of the object with these members, or with those in `keys`. */
export function joinMembers(members: ReadonlyMap<string, string>, keys?: ReadonlySet<string>): string {
  let text = '';
  for (const [key, member] of members) {
    if (keys === undefined || keys.has(key)) text += text === '' ? member : `,${member}`;
  }
  return `{${text}}`;
}

/** The first part of a value that is not plain JSON, if any: `undefined`, NaN, a Date, a cycle, a lone surrogate. */
export function notJson(value: unknown): { readonly path: string; readonly message: string } | undefined {
  return search(value, '', 0, { left: VALUES_MAX });
}

/** A value can reference one part many times, so its document can be much larger than the value in memory. */
const VALUES_MAX = 1_000_000;

function write(value: unknown, depth: number): string {
  switch (typeof value) {
    case 'string':
      return writeString(value);
    case 'number':
      if (Number.isFinite(value)) return String(value);
      break;
    case 'boolean':
      return value ? 'true' : 'false';
    case 'object':
      if (value === null) return 'null';
      if (depth >= JSON_DEPTH_MAX) break;
      if (Array.isArray(value)) return writeArray(value, depth + 1);
      if (isPlain(value)) return writeObject(value, depth + 1);
      break;
    default:
  }
  throw new TypeError(`Not plain JSON: ${reasonOf(value)}`);
}

function writeArray(list: readonly unknown[], depth: number): string {
  let text = '[';
  for (let index = 0; index < list.length; index++) {
    if (index > 0) text += ',';
    text += write(list[index], depth);
  }
  return `${text}]`;
}

function writeObject(object: Record<string, unknown>, depth: number): string {
  let text = '{';
  for (const key of sortedKeys(object)) {
    if (text.length > 1) text += ',';
    text += `${writeString(key)}:${write(object[key], depth)}`;
  }
  return `${text}}`;
}

/** Most objects have few keys in almost the right order. Insertion takes a quarter of the time that `sort` needs. */
function sortedKeys(object: object): string[] {
  const keys = Object.keys(object);
  if (keys.length > INSERTED_MAX) return keys.sort();
  for (let index = 1; index < keys.length; index++) {
    const key = keys[index] as string;
    let at = index;
    for (; at > 0 && (keys[at - 1] as string) > key; at--) keys[at] = keys[at - 1] as string;
    keys[at] = key;
  }
  return keys;
}

const INSERTED_MAX = 32;

/** Most strings need no escapes, and this check is several times faster than JSON.stringify. */
const PLAIN = /^[ !#-[\]-~]*$/;

function writeString(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`;
  if (!text.isWellFormed()) throw new TypeError('Not plain JSON: a lone surrogate');
  return JSON.stringify(text);
}

function search(
  value: unknown,
  path: string,
  depth: number,
  budget: { left: number },
): { path: string; message: string } | undefined {
  if (--budget.left < 0) return { path, message: `exceeds the limit of ${VALUES_MAX.toLocaleString('en-US')} values` };
  if (value === null || typeof value === 'boolean') return undefined;
  if (typeof value === 'string') {
    return value.isWellFormed() ? undefined : { path, message: 'contains a lone surrogate' };
  }
  if (typeof value === 'number') {
    return Number.isFinite(value) ? undefined : { path, message: 'is not a finite number' };
  }
  if (typeof value !== 'object') return { path, message: `is ${reasonOf(value)}, which JSON cannot represent` };
  if (depth >= JSON_DEPTH_MAX) return { path, message: `is nested deeper than ${JSON_DEPTH_MAX} levels` };
  if (Array.isArray(value)) {
    if (Object.getPrototypeOf(value) !== Array.prototype || Reflect.ownKeys(value).length !== value.length + 1) {
      return { path, message: 'is a list with holes or extra properties' };
    }
    for (let index = 0; index < value.length; index++) {
      const found = search(value[index], `${path}[${index}]`, depth + 1, budget);
      if (found) return found;
    }
    return undefined;
  }
  if (!isPlain(value)) return { path, message: `is ${reasonOf(value)}, which JSON cannot represent` };
  const keys = Object.keys(value);
  if (Reflect.ownKeys(value).length > keys.length) return { path, message: 'has a key that JSON omits' };
  for (const key of keys) {
    const at = placeOf(path, key);
    if (!key.isWellFormed()) return { path: at, message: 'has a name with a lone surrogate' };
    const found = search(value[key], at, depth + 1, budget);
    if (found) return found;
  }
  return undefined;
}

function isPlain(value: object): value is Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function reasonOf(value: unknown): string {
  if (typeof value === 'number') return 'a number that is not finite';
  if (typeof value === 'object') return 'a class instance, or nested too deeply';
  return value === undefined ? 'undefined' : `a ${typeof value}`;
}
