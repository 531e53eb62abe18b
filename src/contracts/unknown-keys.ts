import { placeOf } from '../base/place.ts';
import { type Definition, definitionOf } from './definition.ts';
import { tagsOf } from './faults.ts';
import type { Shape } from './shape.ts';

/** The paths of all keys that a shape does not know, `__proto__` among them. */
export function* unknownKeys(shape: Shape, value: unknown): Generator<{ parent: string; key: string }> {
  yield* search(knownIn(shape), value, '');
}

/** What a shape knows, boiled down to key names. */
type Known =
  | { readonly kind: 'object'; readonly keys: ReadonlyMap<string, Known>; readonly tags: ReturnType<typeof tagsOf> }
  | { readonly kind: 'list'; readonly of: Known }
  | { readonly kind: 'either'; readonly options: readonly Known[] }
  | { readonly kind: 'anything' };

function* search(known: Known, value: unknown, path: string): Generator<{ parent: string; key: string }> {
  if (typeof value !== 'object' || value === null) return;
  if (known.kind === 'list' && Array.isArray(value)) {
    if (known.of.kind === 'anything') return;
    for (let index = 0; index < value.length; index++) yield* search(known.of, value[index], `${path}[${index}]`);
  } else if (known.kind === 'either') {
    const option = known.options.find(option => fits(option, value));
    if (option) yield* search(option, value, path);
  } else if (known.kind === 'object' && !Array.isArray(value)) {
    for (const key of Object.keys(value)) {
      const inner = known.keys.get(key);
      if (inner === undefined) yield { parent: path, key };
      else if (inner.kind !== 'anything') {
        yield* search(inner, (value as Record<string, unknown>)[key], placeOf(path, key));
      }
    }
  }
}

function fits(option: Known, value: object): boolean {
  if (option.kind === 'list') return Array.isArray(value);
  if (option.kind !== 'object') return false;
  return option.tags.every(([key, tag]) => (value as Record<string, unknown>)[key] === tag);
}

const knownByShape = new WeakMap<object, Known>();

function knownIn(shape: Shape): Known {
  let known = knownByShape.get(shape);
  if (!known) {
    known = compile(definitionOf(shape));
    knownByShape.set(shape, known);
  }
  return known;
}

function compile(definition: Definition): Known {
  const { def } = definition._zod;
  if (def.type === 'object' && def.shape) {
    const entries = Object.entries(def.shape);
    return {
      kind: 'object',
      keys: new Map(entries.map(([key, inner]) => [key, compile(inner)])),
      tags: tagsOf(definition),
    };
  }
  if (def.type === 'array' && def.element) return { kind: 'list', of: compile(def.element) };
  if (def.type === 'union' && def.options) {
    const options = def.options.map(compile).filter(option => option.kind !== 'anything');
    return options.length === 0 ? { kind: 'anything' } : { kind: 'either', options };
  }
  return def.innerType ? compile(def.innerType) : { kind: 'anything' };
}
