import { diffWordsWithSpace } from 'diff';

/** A stretch of text that is on both sides or only on one. */
export interface Stretch {
  readonly text: string;
  readonly on: 'both' | 'baseline' | 'new';
}

/** Longer pairs are marked from their first to their last difference. */
export const WORDS_CHARS_MAX = 20_000;
const EDITS_MAX = 600;

/** The difference between two texts by word; undefined if they are too long or have little in common. */
export function stretches(baseline: string, candidate: string): Stretch[] | undefined {
  if (baseline.length + candidate.length > WORDS_CHARS_MAX) return undefined;
  const parts = diffWordsWithSpace(baseline, candidate, { maxEditLength: EDITS_MAX });
  if (!parts) return undefined;
  const found = parts.map(
    ({ value, added, removed }): Stretch => ({ text: value, on: added ? 'new' : removed ? 'baseline' : 'both' }),
  );
  const joined = withoutIslands(found);
  const shared = joined.reduce((sum, { text, on }) => sum + (on === 'both' ? text.length : 0), 0);
  return shared * 4 < Math.max(baseline.length, candidate.length) ? undefined : joined;
}

/** A short match between changes, such as a comma, becomes part of the change. */
function withoutIslands(found: readonly Stretch[]): Stretch[] {
  return found.flatMap((stretch, index): Stretch[] => {
    const isBetween =
      found[index - 1]?.on !== 'both' && found[index + 1]?.on !== 'both' && index > 0 && index < found.length - 1;
    const isShort = stretch.on === 'both' && isBetween && !/[\p{L}\p{N}]{3}/u.test(stretch.text);
    return isShort
      ? [
          { text: stretch.text, on: 'baseline' },
          { text: stretch.text, on: 'new' },
        ]
      : [stretch];
  });
}
