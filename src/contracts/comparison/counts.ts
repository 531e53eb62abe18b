import type { CaseTrials } from '../gate/decide/index.ts';
import type { ComparedCase } from './shape.ts';
import { standingOf } from './trial.ts';

type TriedTrial = Readonly<Omit<ComparedCase['new']['trials'][number], 'run_id' | 'output_hash'>> & {
  /** The trial is from another tool, which reports passes without a score. */
  readonly isResult?: boolean;
};

interface TriedSide {
  readonly trials: readonly TriedTrial[];
}

/** Cases with their trials, from a comparison or from the results of another tool. */
export type TriedCases = readonly {
  readonly case_id: string;
  readonly baseline: TriedSide;
  readonly new: TriedSide;
  /** How the case differs from the baseline. Absent in results of other tools. */
  readonly changed?: ComparedCase['changed'];
}[];

/** The trials of a comparison, counted for the gate. */
export interface Counts {
  /** Cases judged on at least one side, except those that only the candidate has. */
  readonly counted: readonly CaseTrials[];
  /** Cases that the candidate no longer has. */
  readonly removed: readonly string[];
  /** The side whose trials mostly gave unreadable answers, if there is one. */
  readonly unreadable: 'baseline' | 'new' | undefined;
  /** No trial of the candidate was judged, because no case has expectations. */
  readonly isUnjudged: boolean;
  /** For each case, all trials on both sides gave the same answer and verdict. */
  readonly isIdentical: boolean;
}

/** Whether a side's model replays recorded answers. */
export interface ReplayedSides {
  readonly baseline: boolean;
  readonly new: boolean;
}

export function countsOf(cases: TriedCases, replayed: ReplayedSides): Counts {
  // If most cases get no answer, the target is down. If only a few get none, the agent fails on them.
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
 * The baseline answered, but the candidate broke the connection in its only planned trial, or in at least two. A single
 * break among several trials may be a network fault. Reruns are ignored.
 */
function isSilent({ baseline, new: candidate }: TriedCases[number]): boolean {
  if (!candidate.trials.some(isCut)) return false;
  const planned = candidate.trials.filter(({ rerun }) => !rerun);
  const silent = planned.filter(isUnanswered).length;
  return silent >= Math.min(2, planned.length) && baseline.trials.some(trial => standingOf(trial) !== 'missing');
}

function isCut({ error_class, rerun }: TriedTrial): boolean {
  return !rerun && (error_class === 'network_error' || error_class === 'other');
}

function isUnanswered(trial: TriedTrial): boolean {
  return standingOf(trial) === 'missing';
}

/** Answered, but no expectation could be judged. */
function isUnjudged({ verdict, score, isResult }: TriedTrial): boolean {
  return verdict === 'pass' && score === null && isResult !== true;
}

/** Whether every trial was answered and none was judged. */
export function isWithoutExpectations(trials: readonly TriedTrial[]): boolean {
  return trials.length > 0 && trials.every(isUnjudged);
}

/**
 * The candidate's trials were not judged; or the baseline's were not, and the candidate never failed. A failure always
 * counts, because an agent can violate its policy in a case without expectations.
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

/** Whether more than half of the trials that count ended in an agent error. */
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

/** Answer hashes exclude ids and times. A trial without a hash was not answered, or predates answer hashes. */
function isSameAnswer({ baseline, new: candidate, changed }: TriedCases[number]): boolean {
  const [first] = baseline.trials;
  // The same answer proves nothing if the case changed, or if the verdict differs, for example because of latency.
  const isSame = ({ answer_hash, verdict }: TriedTrial): boolean =>
    answer_hash === first?.answer_hash && verdict === first?.verdict;
  if (first?.answer_hash === undefined || changed || candidate.trials.length === 0) return false;
  return baseline.trials.every(isSame) && candidate.trials.every(isSame);
}

interface SideRules {
  readonly isReplayed: boolean;
  /** Unanswered trials count as failed. */
  readonly isSilenceFailure?: boolean;
}

/** Counts the trials of a side. A replayed side counts once, because a recording always gives the same answer. */
function sideOf(
  trials: readonly TriedTrial[],
  { isReplayed, isSilenceFailure = false }: SideRules,
): CaseTrials['baseline'] {
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

/** Shared by cases without reruns, which is nearly all of them. */
const NONE = { passes: 0, trials: 0 } as const;
