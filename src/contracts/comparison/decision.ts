import {
  type CaseFinding,
  type CaseTrials,
  decideCases,
  type GateDecision,
  type GateMode,
} from '../gate/decide/index.ts';
import type { Comparison, Decision } from './shape.ts';
import { standingOf, type Trial } from './trial.ts';

type GateSettings = Pick<
  Comparison['gate'],
  'margin' | 'alpha' | 'confidence' | 'critical' | 'missing_max_ratio' | 'allow_removed' | 'looks'
> & { readonly mode: GateMode };

/** A trial that says how it ended, and whether it was asked again because its case looked broken. */
type Ended = Pick<Trial, 'verdict' | 'error_class'> & { readonly rerun?: boolean };

type Side = { readonly trials: readonly Ended[] };

type Cases = readonly { readonly case_id: string; readonly baseline: Side; readonly new: Side }[];

/** What the gate finds, and its sentence. Judging writes it, and verifying computes it again. */
export interface Decided {
  readonly decision: Decision;
  readonly reason: string;
  readonly moreTrials: number | null;
}

/** Decides on cases by what their trials show. A cause that hides a regression comes after the regressions. */
export function decideComparison(gate: GateSettings, cases: Cases, withoutExpectations: number): Decided {
  const facts = factsOf(cases);
  const { mode, margin, alpha, confidence, critical, missing_max_ratio: missingMaxRatio, looks } = gate;
  const given = { margin, alpha, confidence, critical, missingMaxRatio, looks };
  const known = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const removed = gate.allow_removed ? [] : facts.removed;
  const counted = gate.allow_removed ? withoutRemoved(facts, critical) : facts.counted;
  const decided = decideCases(counted, { mode, ...known });
  const cause = causeOf(decided, { ...facts, counted, removed, cases: cases.length, withoutExpectations });
  const { cases: paired, drop, high, p, broken, suspects } = decided;
  return {
    decision: {
      cause,
      cases: paired,
      drop,
      high,
      p,
      broken: broken.map(findingOf),
      suspects: suspects.map(findingOf),
      removed: [...removed],
    },
    reason: REASONS[cause]?.(removed, facts.unreadable, cases.length) ?? decided.reason,
    moreTrials: decided.moreTrials,
  };
}

/** The verdict that each cause leads to. */
export const VERDICT_OF: Readonly<Record<Decision['cause'], Comparison['verdict']>> = {
  no_pairs: 'not_enough_evidence',
  broken: 'regression',
  worse: 'regression',
  unreadable: 'not_enough_evidence',
  no_expectations: 'not_enough_evidence',
  all_failing: 'not_enough_evidence',
  removed: 'not_enough_evidence',
  missing: 'not_enough_evidence',
  suspect: 'not_enough_evidence',
  identical: 'no_regression',
  safe: 'no_regression',
  not_worse: 'no_regression',
  unsettled: 'not_enough_evidence',
};

interface Facts {
  readonly counted: readonly CaseTrials[];
  readonly removed: readonly string[];
  /** Trials of the baseline whose answer could not be read. */
  readonly unreadable: number;
  /** Trials of the baseline that were answered. */
  readonly answered: number;
}

function causeOf(
  { cause, verdict }: GateDecision,
  facts: Facts & { readonly cases: number; readonly withoutExpectations: number },
): Decision['cause'] {
  const { counted, removed, unreadable, answered, cases, withoutExpectations } = facts;
  if (answered > 0 && unreadable > answered / 2) return 'unreadable';
  if (verdict === 'regression' || cause === 'no_pairs') return cause;
  if (withoutExpectations > 0 && withoutExpectations === cases) return 'no_expectations';
  if (counted.every(({ baseline, candidate }) => baseline.planned.passes + candidate.planned.passes === 0))
    return 'all_failing';
  return removed.length > 0 ? 'removed' : cause;
}

/** The sentences of causes that the gate itself does not know. */
const REASONS: Readonly<
  Partial<Record<Decision['cause'], (removed: readonly string[], unreadable: number, cases: number) => string>>
> = {
  unreadable: (_, unreadable) =>
    `Most answers of the baseline cannot be read (${unreadable} of its trials), so there is nothing to compare with.`,
  no_expectations: () => 'No case has an expectation, so nothing was judged.',
  all_failing: (_, __, cases) =>
    `${cases === 1 ? 'The only case fails' : `All ${cases} cases fail`} on both sides, so nothing could get worse.`,
  removed: removed =>
    `${removed.length === 1 ? 'A case of the baseline is' : `${removed.length} cases of the baseline are`} no longer in the suite: ${named(removed)}. --allow-removed accepts this.`,
};

function named(ids: readonly string[]): string {
  const more = ids.length - NAMED_MAX;
  return [...ids.slice(0, NAMED_MAX), ...(more > 0 ? [`${more} more`] : [])].join(', ');
}

const NAMED_MAX = 5;

function factsOf(cases: Cases): Facts {
  const silent = cases.filter(isSilent);
  // A target that answers hardly anything is down; one that drops a few inputs fails on them.
  const isFailing = silent.length * 2 <= cases.length;
  let unreadable = 0;
  let answered = 0;
  for (const { baseline } of cases) {
    for (const trial of baseline.trials) {
      if (standingOf(trial) !== 'missing') answered++;
      if (trial.error_class === 'invalid_json' || trial.error_class === 'schema_mismatch') unreadable++;
    }
  }
  return {
    counted: cases.map(one => ({
      id: one.case_id,
      baseline: sideOf(one.baseline.trials, false),
      candidate: sideOf(one.new.trials, isFailing && isSilent(one)),
    })),
    removed: cases.filter(one => one.baseline.trials.length > 0 && one.new.trials.length === 0).map(one => one.case_id),
    unreadable,
    answered,
  };
}

/** Cases that may be gone are not missing, except critical ones. */
function withoutRemoved({ counted, removed }: Facts, critical: readonly string[] = []): readonly CaseTrials[] {
  const gone = new Set(removed.filter(id => !critical.includes(id)));
  return counted.filter(({ id }) => !gone.has(id));
}

/** The baseline answered, and the candidate broke the connection in every trial. */
function isSilent({ baseline, new: candidate }: Cases[number]): boolean {
  return (
    candidate.trials.length > 0 &&
    candidate.trials.every(isUnanswered) &&
    baseline.trials.some(trial => standingOf(trial) !== 'missing')
  );
}

function isUnanswered({ error_class }: Pick<Trial, 'error_class'>): boolean {
  return error_class === 'network_error' || error_class === 'other';
}

/** Trials that say something of the agent; with `countsSilence`, those that it did not answer too. */
function sideOf(trials: readonly Ended[], countsSilence: boolean) {
  const planned = { passes: 0, trials: 0 };
  const again = { passes: 0, trials: 0 };
  for (const trial of trials) {
    const standing = standingOf(trial);
    if (standing === 'missing' && !countsSilence) continue;
    const count = trial.rerun ? again : planned;
    count.trials++;
    if (standing === 'passed') count.passes++;
  }
  return { planned, again };
}

function findingOf({ case: case_id, baseline, candidate, p }: CaseFinding): Decision['broken'][number] {
  return { case_id, baseline, new: candidate, p };
}
