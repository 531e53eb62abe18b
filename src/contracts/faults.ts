import { placeOf } from '../base/place.ts';
import { type Check, type Definition, definitionOf } from './definition.ts';
import type { Shape } from './shape.ts';

/** A place where a value does not have its shape. The message continues the place: "is missing". */
export interface ShapeFault {
  readonly path: string;
  readonly message: string;
}

/**
 * Everything that keeps a value from its shape, one fault at a time: a list with a million wrong elements is told in the
 * memory of one. zod itself gathers all issues first and runs out of stack on such a list.
 */
export function shapeFaults(shape: Shape, value: unknown): Generator<ShapeFault> {
  return faultsIn(definitionOf(shape), value, '');
}

function* faultsIn(definition: Definition, value: unknown, path: string): Generator<ShapeFault> {
  const { def } = definition._zod;
  switch (def.type) {
    case 'optional':
      if (value !== undefined) yield* faultsIn(inner(definition), value, path);
      return;
    case 'nullable':
      if (value !== null) yield* faultsIn(inner(definition), value, path);
      return;
    case 'union':
      yield* unionFaults(definition, value, path);
      return;
    case 'intersection':
      for (const side of [def.left, def.right]) if (side) yield* faultsIn(side, value, path);
      return;
    default:
  }
  const trouble = typeTrouble(definition, value);
  if (trouble !== undefined) {
    yield { path, message: trouble };
    return;
  }
  for (const check of def.checks ?? []) {
    const message = checkTrouble(check, value);
    if (message === undefined) continue;
    yield { path, message };
    // The rest would only say the same in other words: a text of the wrong form names no day either.
    break;
  }
  if (def.type === 'object') {
    for (const [key, member] of Object.entries(def.shape ?? {})) {
      const place = placeOf(path, key);
      const found = (value as Record<string, unknown>)[key];
      if (found !== undefined) yield* faultsIn(member, found, place);
      else if (member._zod.def.type !== 'optional') yield { path: place, message: 'is missing' };
    }
  }
  if (def.type === 'array' && def.element) {
    const list = value as readonly unknown[];
    for (let index = 0; index < list.length; index++) yield* faultsIn(def.element, list[index], placeOf(path, index));
  }
}

/** Faults of the option that was meant: the one whose tags the value carries, else the one without tags. */
function* unionFaults({ _zod: { def } }: Definition, value: unknown, path: string): Generator<ShapeFault> {
  const options = def.options ?? [];
  if (options.some(option => faultsIn(option, value, path).next().done)) return;
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  const candidates = isObject ? options.filter(option => option._zod.def.type !== 'string') : [];
  const meant =
    candidates.find(option => hasTags(option, value)) ?? candidates.find(option => tagsOf(option).length === 0);
  if (meant) yield* faultsIn(meant, value, path);
  else yield { path, message: `must be ${options.map(whatOf).join(' or ')}, is ${kindOf(value)}` };
}

/** The keys of an object shape that may have one value only, and so tell which shape it is. */
export function tagsOf({ _zod: { def } }: Definition): readonly (readonly [string, unknown])[] {
  return Object.entries(def.shape ?? {}).flatMap(([key, { _zod }]) =>
    _zod.def.type === 'literal' ? [[key, _zod.def.values?.[0]] as const] : [],
  );
}

function hasTags(option: Definition, value: unknown): boolean {
  const tags = tagsOf(option);
  return tags.length > 0 && tags.every(([key, tag]) => (value as Record<string, unknown>)[key] === tag);
}

function inner({ _zod: { def } }: Definition): Definition {
  if (!def.innerType) throw new Error(`A shape of type ${def.type} has nothing inside.`);
  return def.innerType;
}

function typeTrouble(definition: Definition, value: unknown): string | undefined {
  const { type, format, values, entries } = definition._zod.def;
  switch (type) {
    case 'unknown':
      return undefined;
    case 'literal':
    case 'enum': {
      const words = values ?? Object.values(entries ?? {});
      if (words.includes(value)) return undefined;
      return `must be ${words.length > 1 ? 'one of ' : ''}${words.map(word => JSON.stringify(word)).join(', ')}`;
    }
    case 'number':
      if (typeof value === 'number' && Number.isFinite(value)) {
        return format === 'safeint' && !Number.isSafeInteger(value) ? `must be a whole number, is ${value}` : undefined;
      }
      break;
    case 'string':
    case 'boolean':
      if (typeof value === type) return undefined;
      break;
    case 'null':
      if (value === null) return undefined;
      break;
    case 'array':
      if (Array.isArray(value)) return undefined;
      break;
    case 'object':
    case 'record':
      if (typeof value === 'object' && value !== null && !Array.isArray(value)) return undefined;
      break;
    default:
      throw new Error(`No words are known for a shape of type ${type}.`);
  }
  return `must be ${whatOf(definition)}, is ${kindOf(value)}`;
}

function checkTrouble(check: Check, value: unknown): string | undefined {
  const { check: name, pattern, minimum = 0, maximum = 0, value: bound = 0, inclusive, error } = check._zod.def;
  const size = (value as { length?: number }).length ?? 0;
  const isText = typeof value === 'string';
  const number = value as number;
  switch (name) {
    case 'string_format':
      return pattern?.test(value as string) ? undefined : (error?.({}) ?? 'has not its form');
    case 'min_length':
      if (size >= minimum) return undefined;
      return isText ? 'must not be empty' : `must have at least ${minimum} element${minimum === 1 ? '' : 's'}`;
    case 'max_length':
      if (size <= maximum) return undefined;
      return `must have at most ${maximum} ${isText ? 'characters' : 'elements'}`;
    case 'greater_than':
      if (inclusive ? number >= bound : number > bound) return undefined;
      return `must be ${inclusive ? 'at least' : 'above'} ${bound}, is ${number}`;
    case 'less_than':
      if (inclusive ? number <= bound : number < bound) return undefined;
      return `must be ${inclusive ? 'at most' : 'below'} ${bound}, is ${number}`;
    default: {
      const payload: { value: unknown; issues: { message?: string }[] } = { value, issues: [] };
      check._zod.check(payload);
      const [issue] = payload.issues;
      return issue && (issue.message ?? error?.({}) ?? 'has not its form');
    }
  }
}

function whatOf({ _zod: { def } }: Definition): string {
  return (def.format === 'safeint' ? 'a whole number' : TYPES[def.type]) ?? def.type;
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
  null: 'null',
};

/** What a value is, in a word or two. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'number') return Number.isFinite(value) ? 'a number' : 'not finite';
  if (typeof value === 'object') return 'an object';
  return typeof value === 'undefined' ? 'missing' : `a ${typeof value}`;
}
