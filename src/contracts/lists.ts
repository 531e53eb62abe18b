import { type Finding, must, should } from './rule.ts';

/** A list that must be sorted by UTF-16 code unit, and should not hold anything twice. What is no string is passed over. */
export function sortedAndUnique(list: readonly unknown[], path: string): readonly Finding[] {
  if (isAscending(list)) return NOTHING;
  const outOfOrder = list.findIndex((entry, index) => isBefore(entry, list[index - 1]));
  const order = outOfOrder > 0 ? [must(`${path}[${outOfOrder}]`, 'breaks the sorted order')] : [];
  return [...order, ...uniqueAdvice(list, path)];
}

const NOTHING: readonly Finding[] = [];

/** Each entry a string and after the one before it: then nothing is out of order and nothing twice. */
function isAscending(list: readonly unknown[]): boolean {
  for (let index = 1; index < list.length; index++) if (!isBefore(list[index - 1], list[index])) return false;
  return true;
}

export function* uniqueAdvice(list: readonly unknown[], path: string): Generator<Finding> {
  const repeated = firstRepeated(list);
  if (repeated !== undefined) yield should(`${path}[${repeated}]`, 'repeats an earlier entry');
}

/** The index of the first entry that stood in the list before. */
export function firstRepeated(list: readonly unknown[]): number | undefined {
  if (list.length < 2) return undefined;
  const seen = new Set<unknown>();
  const index = list.findIndex(entry => typeof entry === 'string' && seen.size === seen.add(entry).size);
  return index < 0 ? undefined : index;
}

function isBefore(entry: unknown, previous: unknown): boolean {
  return typeof entry === 'string' && typeof previous === 'string' && entry < previous;
}
