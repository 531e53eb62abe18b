import { type Finding, must, should } from './rule.ts';

/** Requires order by UTF-16 code unit, and advises against duplicates. Ignores entries that are not strings. */
export function sortedAndUnique(list: readonly unknown[], path: string): readonly Finding[] {
  if (isAscending(list)) return NOTHING;
  const outOfOrder = list.findIndex((entry, index) => isBefore(entry, list[index - 1]));
  const order = outOfOrder > 0 ? [must(`${path}[${outOfOrder}]`, OUT_OF_ORDER)] : [];
  return [...order, ...uniqueAdvice(list, path)];
}

const NOTHING: readonly Finding[] = [];

export const OUT_OF_ORDER = 'is out of order';

/** Fast path: strictly ascending strings are sorted and unique. */
function isAscending(list: readonly unknown[]): boolean {
  for (let index = 1; index < list.length; index++) if (!isBefore(list[index - 1], list[index])) return false;
  return true;
}

/** Requires strictly ascending strings. */
export function* ascending(list: readonly string[], path: string): Generator<Finding> {
  for (const [index, entry] of list.entries()) {
    const previous = list[index - 1];
    if (previous === entry) yield must(`${path}[${index}]`, 'is a duplicate');
    else if (previous !== undefined && entry < previous) yield must(`${path}[${index}]`, OUT_OF_ORDER);
  }
}

export function* uniqueAdvice(list: readonly unknown[], path: string): Generator<Finding> {
  const repeated = firstRepeated(list);
  if (repeated !== undefined) yield should(`${path}[${repeated}]`, 'is a duplicate');
}

/** The index of the first string that occurred earlier in the list. */
export function firstRepeated(list: readonly unknown[]): number | undefined {
  if (list.length < 2) return undefined;
  const seen = new Set<unknown>();
  const index = list.findIndex(entry => typeof entry === 'string' && seen.size === seen.add(entry).size);
  return index < 0 ? undefined : index;
}

function isBefore(entry: unknown, previous: unknown): boolean {
  return typeof entry === 'string' && typeof previous === 'string' && entry < previous;
}
