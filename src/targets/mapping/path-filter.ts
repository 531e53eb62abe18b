/** A test of one value. `tests` is how many single tests it may need. */
export interface PathFilter {
  readonly holds: (value: unknown) => boolean;
  readonly tests: number;
}

/** A member's name or an element's index. */
export type PathKey = string | number;

/** One side of a comparison. */
export type FilterValue = { readonly keys: readonly PathKey[] } | { readonly literal: Literal };

type Literal = string | number | boolean | null;

export function hasValue(keys: readonly PathKey[]): PathFilter {
  return { holds: value => valueBelow(value, keys) !== undefined, tests: 1 };
}

export function isEqualTo(left: FilterValue, right: FilterValue): PathFilter {
  return { holds: comparison(left, right), tests: 1 };
}

/** A missing value differs from every literal, as in RFC 9535. */
export function differsFrom(left: FilterValue, right: FilterValue): PathFilter {
  const isEqual = comparison(left, right);
  return { holds: value => !isEqual(value), tests: 1 };
}

export function bothHold(left: PathFilter, right: PathFilter): PathFilter {
  return { holds: value => left.holds(value) && right.holds(value), tests: left.tests + right.tests };
}

export function eitherHolds(left: PathFilter, right: PathFilter): PathFilter {
  return { holds: value => left.holds(value) || right.holds(value), tests: left.tests + right.tests };
}

export function doesNotHold({ holds, tests }: PathFilter): PathFilter {
  return { holds: value => !holds(value), tests };
}

/** Literals are never objects, so `===` is the equality of RFC 9535. */
function comparison(left: FilterValue, right: FilterValue): (value: unknown) => boolean {
  if ('keys' in left) return 'literal' in right ? below(left.keys, right.literal) : () => false;
  if ('keys' in right) return below(right.keys, left.literal);
  const isEqual = left.literal === right.literal;
  return () => isEqual;
}

function below(keys: readonly PathKey[], literal: Literal): (value: unknown) => boolean {
  return value => valueBelow(value, keys) === literal;
}

/** The value that names and indexes lead to; undefined if there is none, which no JSON value is. */
export function valueBelow(value: unknown, keys: readonly PathKey[]): unknown {
  let at = value;
  for (let index = 0; index < keys.length && at !== undefined; index++) at = childOf(at, keys[index] as PathKey);
  return at;
}

/** The own member or element at a key. Inherited keys do not count. */
export function childOf(value: unknown, key: PathKey): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  if (typeof key === 'number') {
    if (!Array.isArray(value)) return undefined;
    return value[key < 0 ? value.length + key : key] as unknown;
  }
  if (Array.isArray(value) || !Object.hasOwn(value, key)) return undefined;
  return (value as Record<string, unknown>)[key];
}
