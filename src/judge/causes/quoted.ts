import { canonicalize } from '../../base/canonical.ts';
import { clip } from '../../base/clip.ts';
import { printable } from '../../base/printable.ts';

/** The agent's words inside Proctor's sentence: shortened, quoted, and without quote characters. */
export function quoted(word: string): string {
  const { text, truncated } = clip(word.replace(QUOTES, "'"), WORD_BYTES_MAX);
  return `“${printable(text)}${truncated ? '…' : ''}”`;
}

/** At most three, and how many more there are. */
export function quotedList(words: readonly string[]): string {
  const shown = words.slice(0, WORDS_MAX).map(quoted);
  const rest = words.length - shown.length;
  return rest > 0 ? `${shown.join(', ')} and ${rest} more` : shown.join(', ');
}

/** The keys in which two objects differ, sorted. Does not say whether they were added, removed or changed. */
export function differingKeys(before: object, now: object): string[] {
  const was = before as Record<string, unknown>;
  const is = now as Record<string, unknown>;
  return [...new Set([...Object.keys(was), ...Object.keys(is)])]
    .filter(key => textOf(was, key) !== textOf(is, key))
    .sort();
}

function textOf(object: Record<string, unknown>, key: string): string | undefined {
  return Object.hasOwn(object, key) ? canonicalize(object[key]) : undefined;
}

const QUOTES = /[“”]/g;
const WORD_BYTES_MAX = 60;
const WORDS_MAX = 3;
