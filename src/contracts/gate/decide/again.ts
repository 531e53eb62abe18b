import { allOf, type CaseTrials, countTrials, type GateTrial } from './trials.ts';
import { findingOf, type GateOptions, isPaired, rulesOf } from './verdict.ts';

export interface AgainOptions extends GateOptions {
  /** `candidate` where the baseline cannot be asked any more. Both sides if absent. */
  readonly sides?: 'both' | 'candidate';
  /** Rounds that were asked, answered or not; those of the case with most trials if absent. */
  readonly rounds?: number;
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
export function askAgain(cases: readonly CaseTrials[], options: AgainOptions = {}): string[] {
  const { sides = 'both', rounds: given = 0, ...rules } = options;
  const { alpha } = rulesOf(rules);
  const both = cases.filter(isPaired);
  const asked = both.reduce((most, { candidate }) => Math.max(most, candidate.again.trials), given);
  const level = alpha / (2 * both.length);
  const isOpen = (one: CaseTrials): boolean => {
    const rounds = sides === 'both' ? Math.ceil(-Math.log(level) / Math.log(4)) : roundsFor(one, level);
    // A round without an answer acquits nobody, so the case is asked again, but not forever.
    if (one.candidate.again.trials >= rounds || asked >= UNANSWERED_MAX * rounds) return false;
    return findingOf(one).p <= suspicion(one);
  };
  return both.filter(isOpen).map(({ id }) => id);
}

/** A side with a single trial says little, whatever the other one shows: a round may have gone unanswered. */
function suspicion({ baseline, candidate }: CaseTrials): number {
  return allOf(baseline).trials === 1 || allOf(candidate).trials === 1 ? 1 / 4 : 1 / 8;
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

/** A case is asked in at most so many times the rounds that would convict it. */
const UNANSWERED_MAX = 2;
