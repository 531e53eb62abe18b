/** One location in two values, with the value on each side. */
export interface Leaf {
  readonly path: string;
  readonly baseline: unknown;
  readonly candidate: unknown;
  readonly same: boolean;
}

export const ABSENT = Symbol('absent');
const LEAVES_MAX = 400;
const DEPTH_MAX = 20;

/**
 * Compares two values location by location: first those of the baseline, then those only the candidate has. Stops after
 * `LEAVES_MAX` locations.
 */
export function leavesOf(baseline: unknown, candidate: unknown): { readonly leaves: Leaf[]; readonly isCut: boolean } {
  const leaves: Leaf[] = [];
  const walk = (path: string, baselineValue: unknown, candidateValue: unknown, depth: number): void => {
    if (leaves.length >= LEAVES_MAX) return;
    const keys = depth < DEPTH_MAX ? keysOf(baselineValue, candidateValue) : undefined;
    if (!keys) {
      leaves.push({
        path,
        baseline: baselineValue,
        candidate: candidateValue,
        same: baselineValue === candidateValue || textOf(baselineValue) === textOf(candidateValue),
      });
      return;
    }
    const isList = Array.isArray(baselineValue) || Array.isArray(candidateValue);
    for (const key of keys) {
      const place = isList ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`;
      walk(place, memberOf(baselineValue, key), memberOf(candidateValue, key), depth + 1);
    }
  };
  walk('', baseline, candidate, 0);
  return { leaves, isCut: leaves.length >= LEAVES_MAX };
}

/** The keys of two values that can be compared key by key; otherwise undefined, and both are shown whole. */
function keysOf(baselineValue: unknown, candidateValue: unknown): string[] | undefined {
  const known = [baselineValue, candidateValue];
  if (!known.every(isWalkable) || new Set(known.map(value => Array.isArray(value))).size > 1) return undefined;
  return [...new Set(known.flatMap(value => Object.keys(value)))];
}

const isWalkable = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && Object.keys(value).length > 0;

function memberOf(value: unknown, key: string): unknown {
  return Object.hasOwn(value as object, key) ? (value as Record<string, unknown>)[key] : ABSENT;
}

export function textOf(value: unknown): string {
  return value === ABSENT ? '' : (JSON.stringify(value) ?? '');
}
