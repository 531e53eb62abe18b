import { type Check, type Definition, definitionOf } from './definition.ts';
import type { Shape } from './shape.ts';

/**
 * Tells quickly that a value has a shape and holds no key beyond it, which is so for almost every document there is.
 * False means only that a closer look is needed: that of `shapeFaults` and `unknownKeys`, which say what is wrong.
 */
export function fits(shape: Shape, value: unknown): boolean {
  let test = testByShape.get(shape);
  if (!test) {
    test = compile(definitionOf(shape));
    testByShape.set(shape, test);
  }
  return test(value);
}

type Test = (value: unknown) => boolean;

const testByShape = new WeakMap<Shape, Test>();

function compile(definition: Definition): Test {
  const { def } = definition._zod;
  const type = typeTest(definition);
  return (def.checks ?? []).map(checkTest).reduce((before, check) => value => before(value) && check(value), type);
}

function typeTest({ _zod: { def } }: Definition): Test {
  switch (def.type) {
    case 'string':
      return value => typeof value === 'string';
    case 'number':
      return def.format === 'safeint' ? Number.isSafeInteger : Number.isFinite;
    case 'boolean':
      return value => typeof value === 'boolean';
    case 'null':
      return value => value === null;
    case 'unknown':
      return () => true;
    case 'literal':
    case 'enum': {
      const values = new Set(def.values ?? Object.values(def.entries ?? {}));
      return value => values.has(value);
    }
    case 'optional':
      return inner(def.innerType);
    case 'nullable': {
      const test = inner(def.innerType);
      return value => value === null || test(value);
    }
    case 'array': {
      const test = inner(def.element);
      return value => {
        if (!Array.isArray(value)) return false;
        // By index, not every(): a hole in a list must be met, not skipped.
        for (let index = 0; index < value.length; index++) if (!test(value[index])) return false;
        return true;
      };
    }
    case 'union': {
      const tests = (def.options ?? []).map(compile);
      return value => tests.some(test => test(value));
    }
    case 'object':
      return objectTest(def.shape ?? {});
    default:
      return () => false;
  }
}

function inner(definition: Definition | undefined): Test {
  return definition ? compile(definition) : () => false;
}

function objectTest(shape: Readonly<Record<string, Definition>>): Test {
  const members = Object.entries(shape).map(([key, definition]) => ({
    key,
    test: compile(definition),
    isOptional: definition._zod.def.type === 'optional',
  }));
  return value => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
    let keys = 0;
    for (const { key, test, isOptional } of members) {
      const member = (value as Record<string, unknown>)[key];
      if (member === undefined) {
        if (!isOptional) return false;
      } else if (test(member)) keys++;
      else return false;
    }
    // oxlint-disable-next-line guard-for-in -- counting everything, so that one key too many is noticed
    for (const _ in value) keys--;
    return keys === 0;
  };
}

/** The checks that stand in hot places are done here; any other is asked itself. */
function checkTest(check: Check): Test {
  const { check: name, pattern, minimum = 0, value: bound = 0, inclusive } = check._zod.def;
  if (name === 'string_format' && pattern && !pattern.global) return value => pattern.test(value as string);
  if (name === 'min_length') return value => (value as { length: number }).length >= minimum;
  if (name === 'greater_than')
    return inclusive ? value => (value as number) >= bound : value => (value as number) > bound;
  if (name === 'less_than') return inclusive ? value => (value as number) <= bound : value => (value as number) < bound;
  return value => {
    const payload = { value, issues: [] };
    check._zod.check(payload);
    return payload.issues.length === 0;
  };
}
