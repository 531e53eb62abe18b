import type { CaseTrials } from '../gate/decide/index.ts';
import type { ComparedCase } from './shape.ts';
import { standingOf } from './trial.ts';

type Told = Readonly<Omit<ComparedCase['new']['trials'][number], 'run_id' | 'output_hash'>>;

interface ToldSide {
  readonly trials: readonly Told[];
}

/** Cases with their trials: those of a comparison, or of results that another tool wrote. */
export type TriedCases = readonly { readonly case_id: string; readonly baseline: ToldSide; readonly new: ToldSide }[];

/** What the trials of a comparison come to, as the gate counts them. */
export interface Counts {
  readonly counted: readonly CaseTrials[];
  /** Cases that the new side no longer has. */
  readonly removed: readonly string[];
  /** Trials of the baseline whose answer could not be read. */
  readonly unreadable: number;
  /** Trials of the baseline that were answered. */
  readonly answered: number;
  /** Every trial of every case gave the same answer, on both sides. */
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
  const before = cases.flatMap(({ baseline }) => baseline.trials);
  return {
    counted: cases.map(one => ({
      id: one.case_id,
      baseline: sideOf(one.baseline.trials, { isReplayed: replayed.baseline }),
      candidate: sideOf(one.new.trials, { isReplayed: replayed.new, isSilenceFailure: isFailing && isSilent(one) }),
    })),
    removed: cases.filter(one => one.baseline.trials.length > 0 && one.new.trials.length === 0).map(one => one.case_id),
    unreadable: before.filter(isUnreadable).length,
    answered: before.filter(trial => standingOf(trial) !== 'missing').length,
    isIdentical: !replayed.baseline && !replayed.new && cases.every(isSameAnswer),
  };
}

/** The baseline answered, and the candidate broke the connection in every trial. */
function isSilent({ baseline, new: candidate }: TriedCases[number]): boolean {
  return (
    candidate.trials.length > 0 &&
    candidate.trials.every(({ error_class }) => error_class === 'network_error' || error_class === 'other') &&
    baseline.trials.some(trial => standingOf(trial) !== 'missing')
  );
}

function isUnreadable({ error_class }: Told): boolean {
  return error_class === 'invalid_json' || error_class === 'schema_mismatch';
}

/** Hashes leave out ids and times. A trial without one was not answered, or was judged before there were any. */
function isSameAnswer({ baseline, new: candidate }: TriedCases[number]): boolean {
  const [first, ...others] = [...baseline.trials, ...candidate.trials];
  return (
    baseline.trials.length > 0 &&
    candidate.trials.length > 0 &&
    first?.answer_hash !== undefined &&
    others.every(({ answer_hash }) => answer_hash === first.answer_hash)
  );
}

interface SideRules {
  readonly isReplayed: boolean;
  /** Trials that were not answered count as failed. */
  readonly isSilenceFailure?: boolean;
}

/** Trials that say something of the agent. A recording gives the same answer each time, so it counts once. */
function sideOf(trials: readonly Told[], { isReplayed, isSilenceFailure = false }: SideRules): CaseTrials['baseline'] {
  const counts = { planned: { passes: 0, trials: 0 }, again: { passes: 0, trials: 0 } };
  for (const trial of trials) {
    const standing = standingOf(trial);
    if (standing === 'missing' && !isSilenceFailure) continue;
    if (isReplayed && counts.planned.trials > 0) continue;
    const count = trial.rerun ? counts.again : counts.planned;
    count.trials++;
    if (standing === 'passed') count.passes++;
  }
  return counts;
}
