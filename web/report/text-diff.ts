import { diffLines, diffWordsWithSpace } from 'diff';

/** A stretch of text that both sides have, or only one. */
export interface Stretch {
  readonly text: string;
  readonly on: 'both' | 'baseline' | 'new';
}

const WORDS_CHARS_MAX = 40_000;
const EDITS_MAX = 1_500;

/** What lies between two texts: word by word, line by line if they are long or far apart, else undefined. */
export function stretches(baseline: string, fresh: string): Stretch[] | undefined {
  const bound = { maxEditLength: EDITS_MAX };
  const parts =
    (baseline.length + fresh.length <= WORDS_CHARS_MAX ? diffWordsWithSpace(baseline, fresh, bound) : undefined) ??
    diffLines(baseline, fresh, bound);
  return parts?.map(({ value, added, removed }) => ({ text: value, on: added ? 'new' : removed ? 'baseline' : 'both' }));
}
