import { printable } from './printable.ts';

/** ` Did you mean "latest"?` for a typo; empty if no known word is similar. */
export function didYouMean(word: string, known: Iterable<string>): string {
  const near = nearestWord(word, known);
  return near === undefined ? '' : ` Did you mean "${printable(near)}"?`;
}

/** The known word with the fewest edits: at most two, and at most a third of the word's length. */
export function nearestWord(word: string, known: Iterable<string>): string | undefined {
  const most = Math.min(SLIPS_MAX, Math.floor(word.length / 3));
  let best: string | undefined;
  let fewest = most + 1;
  if (most === 0 || word.length > WORD_MAX) return undefined;
  let looked = 0;
  for (const candidate of known) {
    if (++looked > KNOWN_MAX) break;
    if (Math.abs(candidate.length - word.length) >= fewest) continue;
    const slips = slipsBetween(word.toLowerCase(), candidate.toLowerCase());
    if (slips < fewest) [best, fewest] = [candidate, slips];
  }
  return best;
}

const SLIPS_MAX = 2;
const WORD_MAX = 200;
const KNOWN_MAX = 10_000;

/** The number of insertions, deletions, substitutions and swaps of neighbors. */
function slipsBetween(a: string, b: string): number {
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      const least = Math.min(
        (above[j] as number) + 1,
        (row[j - 1] as number) + 1,
        (above[j - 1] as number) + (isSame ? 0 : 1),
      );
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(isSwapped ? Math.min(least, (before[j - 2] as number) + 1) : least);
    }
    before = above;
    above = row;
  }
  return above[b.length] as number;
}
