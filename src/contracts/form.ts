import { placeOf } from '../base/place.ts';
import { type ZodCheck, type Definition, definitionOf } from './definition.ts';
import { checkFault, checkTest } from './form-checks.ts';
import { openObject } from './form-open.ts';
import { isObject, kindOf } from './kind.ts';
import type { Shape } from './shape.ts';

/** A shape, compiled for checking. */
export interface CompiledShape {
  /** What it requires, such as "a string". */
  readonly what: string;
  /** A fast test that most documents pass. False only means that `faults` and `unknown` must run. */
  readonly fits: (value: unknown) => boolean;
  /** Yields one fault at a time. zod collects all issues first, and a list with a million bad elements exhausts its stack. */
  readonly faults: (value: unknown, path: string) => Iterable<ShapeFault>;
  /** Yields keys that the shape does not define, including `__proto__`. */
  readonly unknown: (value: unknown, path: string) => Iterable<UnknownKey>;
  /** Keys with a single allowed value, which distinguish the options of a union. */
  readonly tags?: readonly (readonly [string, unknown])[];
}

/** A mismatch between a value and its shape. The message follows the path: "is missing". */
interface ShapeFault {
  readonly path: string;
  readonly message: string;
}

interface UnknownKey {
  /** The path of the object that has the key. */
  readonly parent: string;
  readonly key: string;
  readonly known: ReadonlyMap<string, unknown>;
}

export function formOf(shape: Shape): CompiledShape {
  let form = formByShape.get(shape);
  if (!form) {
    form = compile(definitionOf(shape));
    formByShape.set(shape, form);
  }
  return form;
}

const formByShape = new WeakMap<Shape, CompiledShape>();

function compile(definition: Definition): CompiledShape {
  const form = compileType(definition);
  const checks = definition._zod.def.checks ?? [];
  return checks.length === 0 ? form : checked(form, checks);
}

function compileType({ _zod: { def } }: Definition): CompiledShape {
  const inner = () => compile(def.innerType as Definition);
  switch (def.type) {
    case 'string':
      return plain('a string', value => typeof value === 'string');
    case 'number':
      return def.format === 'safeint' ? wholeNumber : plain('a number', Number.isFinite);
    case 'boolean':
      return plain('true or false', value => typeof value === 'boolean');
    case 'null':
      return plain('null', value => value === null);
    case 'unknown':
      return plain('anything', () => true);
    case 'record':
      // Most maps accept any value, so there is nothing to check inside.
      return def.valueType?._zod.def.type === 'unknown'
        ? plain('an object', isObject)
        : map(compile(def.valueType as Definition));
    case 'literal':
    case 'enum':
      return choice(def.values ?? Object.values(def.entries ?? {}));
    case 'optional':
      return except(inner(), undefined);
    case 'nullable':
      return except(inner(), null);
    case 'array':
      return list(compile(def.element as Definition));
    case 'object':
      return objectOf(def.shape ?? {}, def.catchall);
    case 'union':
      return union((def.options ?? []).map(compile));
    case 'intersection':
      return both(compile(def.left as Definition), compile(def.right as Definition));
    default:
      throw new Error(`Shapes of type ${def.type} are not supported.`);
  }
}

const NOTHING: readonly never[] = [];
const nothing = (): readonly never[] => NOTHING;

/** A value without members. */
function plain(what: string, fits: (value: unknown) => boolean): CompiledShape {
  return {
    what,
    fits,
    faults: (value, path) => (fits(value) ? NOTHING : [mistyped(what, value, path)]),
    unknown: nothing,
  };
}

const wholeNumber: CompiledShape = {
  ...plain('an integer', Number.isSafeInteger),
  faults(value, path) {
    if (Number.isSafeInteger(value)) return NOTHING;
    return typeof value === 'number' && Number.isFinite(value)
      ? [{ path, message: `must be an integer, but is ${value}` }]
      : [mistyped('an integer', value, path)];
  },
};

function choice(values: readonly unknown[]): CompiledShape {
  const known = new Set(values);
  const words = values.map(word => JSON.stringify(word)).join(', ');
  const what = values.length > 1 ? `one of ${words}` : words;
  const fits = (value: unknown): boolean => known.has(value);
  return {
    what,
    fits,
    faults: (value, path) => (fits(value) ? NOTHING : [{ path, message: `must be ${what}` }]),
    unknown: nothing,
  };
}

/** Accepts `empty` as well. */
function except(form: CompiledShape, empty: null | undefined): CompiledShape {
  return {
    what: form.what,
    fits: value => value === empty || form.fits(value),
    faults: (value, path) => (value === empty ? NOTHING : form.faults(value, path)),
    unknown: (value, path) => (value === empty ? NOTHING : form.unknown(value, path)),
  };
}

function list(element: CompiledShape): CompiledShape {
  return {
    what: 'a list',
    fits(value) {
      if (!Array.isArray(value)) return false;
      // Not every(), which skips holes.
      for (let index = 0; index < value.length; index++) if (!element.fits(value[index])) return false;
      return true;
    },
    *faults(value, path) {
      if (!Array.isArray(value)) yield mistyped('a list', value, path);
      else for (let index = 0; index < value.length; index++) yield* element.faults(value[index], placeOf(path, index));
    },
    *unknown(value, path) {
      if (element.unknown === nothing || !Array.isArray(value)) return;
      for (let index = 0; index < value.length; index++) yield* element.unknown(value[index], placeOf(path, index));
    },
  };
}

const keysOf = (value: object): string[] => Object.keys(value).filter(key => key !== '__proto__');

/** An object with any keys, whose values all have one form. Rules handle `__proto__`. */
function map(member: CompiledShape): CompiledShape {
  return {
    what: 'an object',
    fits: value => isObject(value) && keysOf(value).every(key => member.fits(value[key])),
    *faults(value, path) {
      if (!isObject(value)) yield mistyped('an object', value, path);
      else for (const key of keysOf(value)) yield* member.faults(value[key], placeOf(path, key));
    },
    *unknown(value, path) {
      if (isObject(value)) for (const key of keysOf(value)) yield* member.unknown(value[key], placeOf(path, key));
    },
  };
}

function objectOf(shape: Readonly<Record<string, Definition>>, rest: Definition | undefined): CompiledShape {
  return rest ? openObject(object(shape), new Set(Object.keys(shape)), compile(rest)) : object(shape);
}

function object(shape: Readonly<Record<string, Definition>>): CompiledShape {
  const members = Object.entries(shape).map(([key, definition]) => ({
    key,
    form: compile(definition),
    isOptional: definition._zod.def.type === 'optional',
  }));
  const forms = new Map(members.map(({ key, form }) => [key, form]));
  return {
    what: 'an object',
    tags: Object.entries(shape).flatMap(([key, { _zod }]) =>
      _zod.def.type === 'literal' ? [[key, _zod.def.values?.[0]] as const] : [],
    ),
    fits(value) {
      if (!isObject(value)) return false;
      let keys = 0;
      for (const { key, form, isOptional } of members) {
        const member = value[key];
        if (member === undefined) {
          if (!isOptional) return false;
        } else if (form.fits(member)) keys++;
        else return false;
      }
      // Count inherited keys too, so that any extra key is noticed.
      for (const _ in value) keys--;
      return keys === 0;
    },
    *faults(value, path) {
      if (!isObject(value)) {
        yield mistyped('an object', value, path);
        return;
      }
      for (const { key, form, isOptional } of members) {
        const member = value[key];
        if (member !== undefined) yield* form.faults(member, placeOf(path, key));
        else if (!isOptional) yield { path: placeOf(path, key), message: 'is missing' };
      }
    },
    *unknown(value, path) {
      if (!isObject(value)) return;
      for (const key of Object.keys(value)) {
        const form = forms.get(key);
        if (!form) yield { parent: path, key, known: forms };
        else if (form.unknown !== nothing) yield* form.unknown(value[key], placeOf(path, key));
      }
    },
  };
}

/** An object with the tags of an option is checked against that option; any other value against the untagged ones. */
function union(options: readonly CompiledShape[]): CompiledShape {
  const tagged = options.filter(({ tags = [] }) => tags.length > 0);
  const untagged = options.filter(({ tags = [] }) => tags.length === 0);
  const what = [...new Set(options.map(option => option.what))].join(' or ');
  const meant = (value: unknown): CompiledShape | undefined => {
    if (!isObject(value)) return undefined;
    return tagged.find(({ tags = [] }) => tags.every(([key, tag]) => value[key] === tag));
  };
  const other = (value: unknown): CompiledShape | undefined =>
    untagged.find(option => isNone(option.faults(value, ''))) ?? untagged.find(option => option.what === kindOf(value));
  return {
    what,
    fits: value => meant(value)?.fits(value) ?? untagged.some(option => option.fits(value)),
    faults(value, path) {
      const option = meant(value) ?? other(value);
      if (option) return option.faults(value, path);
      return isObject(value) && tagged.length > 0 ? [tagFault(tagged, value, path)] : [mistyped(what, value, path)];
    },
    unknown: (value, path) => (meant(value) ?? other(value))?.unknown(value, path) ?? NOTHING,
  };
}

/** The fault of an object whose tag is missing or unknown. */
function tagFault(options: readonly CompiledShape[], value: Record<string, unknown>, path: string): ShapeFault {
  const key = options[0]?.tags?.[0]?.[0] as string;
  if (value[key] === undefined) return { path: placeOf(path, key), message: 'is missing' };
  const words = options.map(({ tags = [] }) => JSON.stringify(tags.find(([tag]) => tag === key)?.[1]));
  return { path: placeOf(path, key), message: `must be one of ${words.join(', ')}` };
}

/** Neither side defines all keys, so no key counts as unknown. */
function both(left: CompiledShape, right: CompiledShape): CompiledShape {
  return {
    what: left.what,
    fits: () => false,
    *faults(value, path) {
      yield* left.faults(value, path);
      yield* right.faults(value, path);
    },
    unknown: nothing,
  };
}

function checked(form: CompiledShape, checks: readonly ZodCheck[]): CompiledShape {
  const fits = checks.map(checkTest).reduce((before, test) => value => before(value) && test(value), form.fits);
  return {
    ...form,
    fits,
    *faults(value, path) {
      let isSound = true;
      for (const fault of form.faults(value, path)) {
        if (fault.path === path) isSound = false;
        yield fault;
      }
      if (!isSound) return;
      // Report only the first: a malformed date is also not a valid day.
      for (const check of checks) {
        const message = checkFault(check, value);
        if (message === undefined) continue;
        yield { path, message };
        return;
      }
    },
  };
}

function isNone(faults: Iterable<ShapeFault>): boolean {
  for (const _ of faults) return false;
  return true;
}

function mistyped(what: string, value: unknown, path: string): ShapeFault {
  return { path, message: `must be ${what}, but is ${kindOf(value)}` };
}
