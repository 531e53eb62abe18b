import type { CaseTrials } from '../gate/decide/index.ts';
import type { ComparedCase } from './shape.ts';
import { standingOf } from './trial.ts';

type Told = Readonly<Omit<ComparedCase['new']['trials'][number], 'run_id' | 'output_hash'>> & {
  /** Another tool says that it passed, and has no score. */
  readonly isResult?: boolean;
};

interface ToldSide {
  readonly trials: readonly Told[];
}

/** Cases with their trials: those of a comparison, or of results that another tool wrote. */
export type TriedCases = readonly {
  readonly case_id: string;
  readonly baseline: ToldSide;
  readonly new: ToldSide;
  /** How the case differs from what it was; results of other tools do not say. */
  readonly changed?: ComparedCase['changed'];
}[];

/** What the trials of a comparison come to, as the gate counts them. */
export interface Counts {
  /** Cases that were judged on at least one side, without those that only the new side has. */
  readonly counted: readonly CaseTrials[];
  /** Cases that the new side no longer has. */
  readonly removed: readonly string[];
  /** A side of which most trials gave no answer that can be read; undefined if there is none. */
  readonly unreadable: 'baseline' | 'new' | undefined;
  /** Nothing was judged on the new side, because nothing is expected. */
  readonly isUnjudged: boolean;
  /** Every trial of every case gave the same answer with the same verdict, on both sides. */
  readonly isIdentical: boolean;
}

/** Sides whose model only repeats what was recorded. */
export interface Replayed {
  readonly baseline: boolean;
  readonly new: boolean;
}

export function countsOf(cases: TriedCases, replayed: Replayed): Counts {
  // A target that answers hardly anything is down; one that drops a few inputs fails on them.
  const isFailing = cases.filter(isSilent).length * 2 <= cases.length;
  const judged = cases.filter(one => one.baseline.trials.length > 0 && !isUnjudgedCase(one));
  return {
    counted: judged.map(one => ({
      id: one.case_id,
      baseline: sideOf(one.baseline.trials, { isReplayed: replayed.baseline }),
      candidate: sideOf(one.new.trials, { isReplayed: replayed.new, isSilenceFailure: isFailing && isSilent(one) }),
    })),
    removed: cases.filter(one => one.baseline.trials.length > 0 && one.new.trials.length === 0).map(one => one.case_id),
    unreadable: (['baseline', 'new'] as const).find(side => isMostlyUnreadable(cases, side)),
    isUnjudged: isUnjudgedSide(cases),
    isIdentical: !replayed.baseline && !replayed.new && cases.every(isSameAnswer),
  };
}

/**
 * The baseline answered, and the new side broke the connection in its planned trials: in the only one, or in two or more.
 * One of several may be the line's fault. What is asked again does not change what the planned trials show.
 */
function isSilent({ baseline, new: candidate }: TriedCases[number]): boolean {
  if (!candidate.trials.some(isCut)) return false;
  const planned = candidate.trials.filter(({ rerun }) => !rerun);
  const silent = planned.filter(isUnanswered).length;
  return silent >= Math.min(2, planned.length) && baseline.trials.some(trial => standingOf(trial) !== 'missing');
}

function isCut({ error_class, rerun }: Told): boolean {
  return !rerun && (error_class === 'network_error' || error_class === 'other');
}

function isUnanswered(trial: Told): boolean {
  return standingOf(trial) === 'missing';
}

/** It was answered, and nothing that was expected could be judged. */
function isUnjudged({ verdict, score, isResult }: Told): boolean {
  return verdict === 'pass' && score === null && isResult !== true;
}

/** The case was answered, and every answer is one of which nothing was judged. */
export function isWithoutExpectations(trials: readonly Told[]): boolean {
  return trials.length > 0 && trials.every(isUnjudged);
}

/**
 * The new side judged nothing of it, or the baseline did not and nothing failed since. What a case lost is told as a change of
 * it. A failure always counts: an agent's program can break its policy in a case that expects nothing else.
 */
function isUnjudgedCase({ baseline, new: candidate }: TriedCases[number]): boolean {
  const hasFailed = candidate.trials.some(trial => standingOf(trial) === 'failed');
  return isWithoutExpectations(candidate.trials) || (isWithoutExpectations(baseline.trials) && !hasFailed);
}

function isUnjudgedSide(cases: TriedCases): boolean {
  let isAnswered = false;
  for (const one of cases) {
    for (const trial of one.new.trials) {
      if (standingOf(trial) === 'missing') continue;
      if (!isUnjudged(trial)) return false;
      isAnswered = true;
    }
  }
  return isAnswered;
}

/** More than half of the trials that came to something ended in an error of the agent's own. */
function isMostlyUnreadable(cases: TriedCases, side: 'baseline' | 'new'): boolean {
  let ended = 0;
  let unreadable = 0;
  for (const one of cases) {
    for (const trial of one[side].trials) {
      if (standingOf(trial) === 'missing') continue;
      ended++;
      if (trial.verdict === 'error') unreadable++;
    }
  }
  return unreadable > ended / 2;
}

/** Hashes leave out ids and times. A trial without one was not answered, or was judged before there were any. */
function isSameAnswer({ baseline, new: candidate, changed }: TriedCases[number]): boolean {
  const [first] = baseline.trials;
  // The same answer to another question is no proof, and neither is one that is judged otherwise, for its time perhaps.
  const isSame = ({ answer_hash, verdict }: Told): boolean =>
    answer_hash === first?.answer_hash && verdict === first?.verdict;
  if (first?.answer_hash === undefined || changed || candidate.trials.length === 0) return false;
  return baseline.trials.every(isSame) && candidate.trials.every(isSame);
}

interface SideRules {
  readonly isReplayed: boolean;
  /** Trials that were not answered count as failed. */
  readonly isSilenceFailure?: boolean;
}

/** Trials that say something of the agent. A recording gives the same answer each time, so it counts once. */
function sideOf(trials: readonly Told[], { isReplayed, isSilenceFailure = false }: SideRules): CaseTrials['baseline'] {
  const planned = { passes: 0, trials: 0 };
  const again = { passes: 0, trials: 0 };
  for (const trial of trials) {
    const standing = standingOf(trial);
    if (standing === 'missing' && !isSilenceFailure) continue;
    if (isReplayed && planned.trials > 0) continue;
    const count = trial.rerun ? again : planned;
    count.trials++;
    if (standing === 'passed') count.passes++;
  }
  return { planned, again: again.trials === 0 ? NONE : again };
}

/** Shared by all cases that were not asked again, which are nearly all. */
const NONE = { passes: 0, trials: 0 } as const;
