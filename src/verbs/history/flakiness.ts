/** How often neighbouring trials differ, out of all neighbours. */
export interface Flips {
  readonly flips: number;
  readonly pairs: number;
}

/** The trials of a case in one run: p passed, f failed. `version` is equal for runs of the same known version. */
export interface TrialsOfRun {
  readonly letters: string;
  readonly version: string;
}

/**
 * Counts, for each run, the trials that differ from the trial before, within the same version. A case that changes
 * once between two runs and stays that way is not flaky: something else changed.
 */
export function flipsOf(runs: readonly TrialsOfRun[]): Flips[] {
  const counts = runs.map(() => ({ flips: 0, pairs: 0 }));
  for (const [from, to] of sameVersion(runs)) {
    let before = '';
    let within = 0;
    const between: number[] = [];
    for (let index = from; index < to; index++) {
      const count = counts[index] as { flips: number; pairs: number };
      const letters = (runs[index]?.letters ?? '').split('').filter(letter => letter === 'p' || letter === 'f');
      for (const [position, letter] of letters.entries()) {
        if (before !== '') count.pairs++;
        const isFlip = before !== '' && letter !== before;
        before = letter;
        if (!isFlip) continue;
        count.flips++;
        if (position === 0) between.push(index);
        else within++;
      }
    }
    const [only, other] = between;
    if (within === 0 && only !== undefined && other === undefined) (counts[only] as { flips: number }).flips--;
  }
  return counts;
}

export function addFlips(a: Flips, b: Flips): Flips {
  return { flips: a.flips + b.flips, pairs: a.pairs + b.pairs };
}

export function shareOf({ flips, pairs }: Flips): number | null {
  return pairs === 0 ? null : flips / pairs;
}

/** Ranges of neighbouring runs of one version. */
function* sameVersion(runs: readonly TrialsOfRun[]): Generator<readonly [from: number, to: number]> {
  let from = 0;
  for (let index = 1; index <= runs.length; index++) {
    if (index < runs.length && runs[index]?.version === runs[from]?.version) continue;
    yield [from, index];
    from = index;
  }
}
