import type { Bounded } from './run-data.ts';

/** The first members of a list, and how many there are in total. */
export function firstOf<Item>(items: readonly Item[], max: number): Bounded<Item> {
  return { shown: items.slice(0, max), total: items.length };
}

/** The beginning of a long text. */
export function cutText(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax).toWellFormed()}…`;
}
