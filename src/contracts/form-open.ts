import { placeOf } from '../base/place.ts';
import type { CompiledShape } from './form.ts';
import { isObject } from './kind.ts';

/** An object with some named members, whose other members all have one form. `__proto__` stays unknown. */
export function openObject(named: CompiledShape, names: ReadonlySet<string>, rest: CompiledShape): CompiledShape {
  const others = (value: object): string[] => Object.keys(value).filter(key => key !== '__proto__' && !names.has(key));
  const faults: CompiledShape['faults'] = function* (value, path) {
    yield* named.faults(value, path);
    if (isObject(value)) for (const key of others(value)) yield* rest.faults(value[key], placeOf(path, key));
  };
  const unknown: CompiledShape['unknown'] = function* (value, path) {
    if (!isObject(value)) return;
    const own = new Set(others(value));
    for (const found of named.unknown(value, path)) if (found.parent !== path || !own.has(found.key)) yield found;
    for (const key of own) yield* rest.unknown(value[key], placeOf(path, key));
  };
  const fits = (value: unknown): boolean => isNone(faults(value, '')) && isNone(unknown(value, ''));
  return { ...named, fits, faults, unknown };
}

function isNone(found: Iterable<unknown>): boolean {
  for (const _ of found) return false;
  return true;
}
