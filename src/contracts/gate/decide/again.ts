import { allOf, type CaseTrials, countTrials, type GateTrial } from './trials.ts';
import { findingOf, type GateOptions, isPaired, rulesOf } from './verdict.ts';

export interface AgainOptions extends GateOptions {
  /** `candidate` reruns the candidate only, for a baseline that can no longer run. Default: `both`. */
  readonly sides?: 'both' | 'candidate';
  /** Rounds so far, answered or not. Default: the most reruns that any case has. */
  readonly rounds?: number;
}

/**
 * The cases to rerun, one more trial per side. Rerunning stops early only for cases that no longer look broken. It can
 * clear a case early, but never declare one broken early, so the gate's error rate needs no correction.
 */
export function casesToAskAgain(
  baseline: Iterable<GateTrial>,
  candidate: Iterable<GateTrial>,
  options: AgainOptions = {},
): string[] {
  return askAgain(countTrials(baseline, candidate), options);
}

/** Like `casesToAskAgain`, for trials that are already counted. */
export function askAgain(cases: readonly CaseTrials[], options: AgainOptions = {}): string[] {
  const { sides = 'both', rounds: given = 0, ...rules } = options;
  const { alpha } = rulesOf(rules);
  const both = cases.filter(isPaired);
  const asked = both.reduce((most, { candidate }) => Math.max(most, candidate.again.trials), given);
  const level = alpha / (2 * both.length);
  const isOpen = (one: CaseTrials): boolean => {
    const rounds = sides === 'both' ? Math.ceil(-Math.log(level) / Math.log(4)) : roundsFor(one, level);
    // A round without an answer does not clear a case, so the case is rerun, up to a limit.
    if (one.candidate.again.trials >= rounds || asked >= UNANSWERED_MAX * rounds) return false;
    return findingOf(one).p <= suspicion(one);
  };
  return both.filter(isOpen).map(({ id }) => id);
}

/** A side with one trial is weak evidence, so the threshold is higher. */
function suspicion({ baseline, candidate }: CaseTrials): number {
  return allOf(baseline).trials === 1 || allOf(candidate).trials === 1 ? 1 / 4 : 1 / 8;
}

/** How many candidate reruns prove a case broken if it fails them all. Returns 0 if more than `ROUNDS_MAX`. */
function roundsFor({ baseline, candidate }: CaseTrials, level: number): number {
  const k = allOf(baseline).trials;
  for (let m = 1; m <= ROUNDS_MAX; m++) {
    if ((k / (k + m)) ** k * (m / (k + m)) ** m <= level) return Math.max(0, m - candidate.planned.trials);
  }
  return 0;
}

const ROUNDS_MAX = 50;

/** The limit on rounds including unanswered ones, as a multiple of the rounds that can prove a case broken. */
const UNANSWERED_MAX = 2;
