import type { CaseTrials } from '../gate/decide/index.ts';
import type { ComparedCase } from './shape.ts';
import { standingOf } from './trial.ts';

type Told = Readonly<Omit<ComparedCase['new']['trials'][number], 'run_id' | 'output_hash'>>;

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
  let unreadable = 0;
  let answered = 0;
  for (const { baseline } of cases) {
    for (const trial of baseline.trials) {
      if (isUnreadable(trial)) unreadable++;
      if (standingOf(trial) !== 'missing') answered++;
    }
  }
  return {
    counted: cases.map(one => ({
      id: one.case_id,
      baseline: sideOf(one.baseline.trials, { isReplayed: replayed.baseline }),
      candidate: sideOf(one.new.trials, { isReplayed: replayed.new, isSilenceFailure: isFailing && isSilent(one) }),
    })),
    removed: cases.filter(one => one.baseline.trials.length > 0 && one.new.trials.length === 0).map(one => one.case_id),
    unreadable,
    answered,
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
function isSameAnswer({ baseline, new: candidate, changed }: TriedCases[number]): boolean {
  const hash = baseline.trials[0]?.answer_hash;
  const isSame = ({ answer_hash }: Told): boolean => answer_hash === hash;
  // The same answer to another question is no proof.
  if (hash === undefined || changed || candidate.trials.length === 0) return false;
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
