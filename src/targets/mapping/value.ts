import { placeOf } from '../../base/place.ts';
import type { CollectForm, SingleValue, ValueForm } from '../../contracts/target/mapping.ts';
import { type PieceIndex, compileCollect } from './collect.ts';
import { joinedTexts, parsedText, textOfValue } from './json-text.ts';
import { MappingError, pathAt } from './mapping-error.ts';
import type { MappingRun, ReadValue } from './mapping-run.ts';
import { type CompiledPath, selectAll, selectFirst } from './path.ts';

/** Compiles the values of one mapping. */
export class ValueCompiler {
  readonly #indexes = new Map<string, PieceIndex>();

  /** Throws a MappingError. Inside a rule, paths may start with `@`. */
  compile(form: ValueForm, place: string, inRule: boolean): ReadValue {
    if (typeof form === 'string') return readPath(pathAt(place, form, inRule ? '$@' : '$'), selectFirst, inRule);
    checkKeys(form, place);
    if (form.first_of) {
      const places = placeOf(place, 'first_of');
      return firstOf(form.first_of.map((one, index) => this.compile(one, placeOf(places, index), inRule)));
    }
    const finish = finisher(form);
    if (form.collect) return this.#collect(form.collect, placeOf(place, 'collect'), inRule, finish);
    const { path, literal } = form;
    if (path === undefined) return () => literal;
    const read = readPath(pathAt(placeOf(place, 'path'), path, inRule ? '$@' : '$'), reducer(form), inRule);
    return form.parse || form.map ? (run, item) => finish(read(run, item)) : read;
  }

  #collect(form: CollectForm, place: string, inRule: boolean, finish: (found: unknown) => unknown): ReadValue {
    const readOwn = (own: ValueForm, ownPlace: string): ReadValue => this.compile(own, ownPlace, inRule);
    return compileCollect(form, place, this.#indexes, readOwn, finish);
  }
}

type Form = Exclude<ValueForm, string>;

/** Checks which keys go together. The shape has checked each of them alone. */
function checkKeys(form: Form, place: string): void {
  const kinds = KINDS.filter(kind => form[kind] !== undefined);
  const [kind] = kinds;
  if (kind === undefined || kinds.length > 1) {
    throw new MappingError(place, 'A value needs exactly one of path, first_of, literal and collect.');
  }
  for (const key of MODIFIERS) {
    if (form[key] !== undefined && !GO_WITH[kind].includes(key)) {
      throw new MappingError(placeOf(place, key), `${key} cannot be combined with ${kind}.`);
    }
  }
  const [reduction, other] = REDUCTIONS.filter(key => form[key] !== undefined);
  if (other) throw new MappingError(placeOf(place, other), `${other} cannot be combined with ${reduction}.`);
  const isMany = reduction === 'all' || reduction === 'sum';
  const change = form.parse ? 'parse' : 'map';
  if (isMany && form[change])
    throw new MappingError(placeOf(place, change), `${change} cannot be combined with ${reduction}.`);
  if (form.else !== undefined && !form.map) throw new MappingError(placeOf(place, 'else'), 'else needs map.');
}

const KINDS = ['path', 'first_of', 'literal', 'collect'] as const;
const REDUCTIONS = ['join', 'all', 'last', 'sum'] as const;
const CHANGES = ['parse', 'map', 'else'] as const;
const MODIFIERS = [...REDUCTIONS, ...CHANGES] as const;
const GO_WITH: Readonly<Record<(typeof KINDS)[number], readonly string[]>> = {
  path: MODIFIERS,
  collect: CHANGES,
  first_of: [],
  literal: [],
};

type Reduce = (path: CompiledPath, from: unknown, budget: MappingRun['budget']) => unknown;

/** How the values that a path selects become one. */
function reducer({ join, all, last, sum }: Exclude<SingleValue, string>): Reduce {
  if (join !== undefined) return (path, from, budget) => joinedTexts(selectAll(path, from, budget), join);
  if (last) return (path, from, budget) => selectAll(path, from, budget).findLast(value => value !== null);
  if (all) {
    return (path, from, budget) => {
      const values = selectAll(path, from, budget);
      return values.length > 0 ? values : undefined;
    };
  }
  return sum ? (path, from, budget) => sumOf(selectAll(path, from, budget)) : selectFirst;
}

function sumOf(values: readonly unknown[]): number | undefined {
  const numbers = values.filter(value => typeof value === 'number');
  return numbers.length === 0 ? undefined : numbers.reduce((sum, number) => sum + number, 0);
}

function readPath(path: CompiledPath, reduce: Reduce, inRule: boolean): ReadValue {
  if (path.root === '@') return (run, item) => reduce(path, item, run.budget);
  const read = (run: MappingRun): unknown => reduce(path, run.document, run.budget);
  const owner = {};
  return inRule ? run => run.shared(owner, undefined, () => read(run)) : read;
}

function firstOf(readers: readonly ReadValue[]): ReadValue {
  return (run, item) => {
    for (const read of readers) {
      const value = read(run, item);
      if (value !== undefined) return value;
    }
    return undefined;
  };
}

/** Applies `parse`, then `map`. */
function finisher({ parse, map, else: other }: Form): (found: unknown) => unknown {
  const table = map && new Map(Object.entries(map));
  return found => {
    const value = parse ? parsedText(found) : found;
    if (!table || value === undefined) return value;
    const word = typeof value === 'object' ? undefined : textOfValue(value);
    if (word !== undefined && table.has(word)) return table.get(word);
    return other === undefined ? value : other;
  };
}
