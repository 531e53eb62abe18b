import { allOf, type CaseTrials, countTrials, type GateTrial } from './trials.ts';
import { findingOf, type GateOptions, isPaired, rulesOf } from './verdict.ts';

export interface AgainOptions extends GateOptions {
  /** `candidate` where the baseline cannot be asked any more. Both sides if absent. */
  readonly sides?: 'both' | 'candidate';
}

/**
 * The cases that deserve one more trial on each side. Asking again ends early only for cases that no longer look broken, so
 * it acquits and never convicts early, and the level of the gate holds without a correction.
 */
export function casesToAskAgain(
  baseline: Iterable<GateTrial>,
  candidate: Iterable<GateTrial>,
  options: AgainOptions = {},
): string[] {
  return askAgain(countTrials(baseline, candidate), options);
}

/** The same for cases whose trials are counted. */
export function askAgain(cases: readonly CaseTrials[], { sides = 'both', ...options }: AgainOptions = {}): string[] {
  const { alpha } = rulesOf(options);
  const both = cases.filter(isPaired);
  const asked = both.reduce((most, { candidate }) => Math.max(most, candidate.again.trials), 0);
  const level = alpha / (2 * both.length);
  const isOpen = (one: CaseTrials): boolean => {
    // A case that was left out of a round has been acquitted.
    if (one.candidate.again.trials < asked) return false;
    const rounds = sides === 'both' ? Math.ceil(-Math.log(level) / Math.log(4)) : roundsFor(one, level);
    return asked < rounds && findingOf(one).p <= suspicion(one);
  };
  return both.filter(isOpen).map(({ id }) => id);
}

function suspicion({ baseline, candidate }: CaseTrials): number {
  return allOf(baseline).trials === 1 && allOf(candidate).trials === 1 ? 1 / 4 : 1 / 8;
}

/** How many trials of the candidate alone would convict a case that fails them all; none if too many. */
function roundsFor({ baseline, candidate }: CaseTrials, level: number): number {
  const k = allOf(baseline).trials;
  for (let m = 1; m <= ROUNDS_MAX; m++) {
    if ((k / (k + m)) ** k * (m / (k + m)) ** m <= level) return Math.max(0, m - candidate.planned.trials);
  }
  return 0;
}

const ROUNDS_MAX = 50;
