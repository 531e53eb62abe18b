import { type Finding, must, should } from './rule.ts';

/** A list that must be sorted by UTF-16 code unit, and should not hold anything twice. */
export function* sortedAndUnique(list: readonly string[], path: string): Generator<Finding> {
  const outOfOrder = list.findIndex((entry, index) => index > 0 && (list[index - 1] as string) > entry);
  if (outOfOrder > 0) yield must(`${path}[${outOfOrder}]`, 'breaks the sorted order');
  yield* uniqueAdvice(list, path);
}

export function* uniqueAdvice(list: readonly string[], path: string): Generator<Finding> {
  const repeated = firstRepeated(list);
  if (repeated !== undefined) yield should(`${path}[${repeated}]`, 'repeats an earlier entry');
}

/** The index of the first entry that stood in the list before. */
export function firstRepeated(list: readonly string[]): number | undefined {
  if (list.length < 2) return undefined;
  const seen = new Set<string>();
  const index = list.findIndex(entry => seen.size === seen.add(entry).size);
  return index < 0 ? undefined : index;
}
