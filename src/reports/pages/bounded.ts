import type { ShortList } from './run-data.ts';

/** The first members of a list, and how many there are in total. */
export function shortListOf<Item>(items: readonly Item[], max: number): ShortList<Item> {
  return { shown: items.slice(0, max), total: items.length };
}

/** The beginning of a long text. */
export function cutText(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax).toWellFormed()}…`;
}

/** The bounds of an ordinary list of texts on a page. */
export const LIST_MAX = 200;
export const TEXT_CHARS_MAX = 4_000;

export function boundedTexts(all: readonly string[]): ShortList<string> {
  const { shown, total } = shortListOf(all, LIST_MAX);
  return { shown: shown.map(text => cutText(text, TEXT_CHARS_MAX)), total };
}

/** Cuts every long text in a value. A folder from elsewhere may contain text of any length anywhere. */
export function cutTexts<Value>(value: Value): Value {
  if (typeof value === 'string') return cutText(value, ANY_CHARS_MAX) as Value;
  if (Array.isArray(value)) return value.map(cutTexts) as Value;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, cutTexts(one)])) as Value;
}

export const ANY_CHARS_MAX = 20_000;
