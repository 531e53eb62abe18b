import { Fault } from '../../base/fault.ts';
import { didYouMean } from '../../base/nearest.ts';
import { printable } from '../../base/printable.ts';
import type { Comparison, Decision } from '../../contracts/comparison/index.ts';
import { casesToAskAgain, type GateTrial } from '../../contracts/gate/decide/index.ts';
import { decideGate, type Gate } from './gate.ts';
import type { ResultCase, ResultSide } from '../results/side.ts';

/** The gate's decision on two sides. */
export interface GatedResults extends Pick<Comparison, 'verdict' | 'exit_code' | 'reason' | 'gate'> {
  readonly decision: Decision;
  /** About how many more trials per case on both sides would settle it; null if trials are not what is missing. */
  readonly more_trials: number | null;
  /** Cases that one more trial on both sides helps to settle. */
  readonly ask_again: readonly string[];
  /** Cases with trials in the baseline that the candidate only lists as skipped. */
  readonly skipped: readonly string[];
}

/** Decides on results from any tool as `compare` decides on runs. */
export function gateResults(baseline: ResultSide, candidate: ResultSide, gate: Gate): GatedResults {
  checkGate(gate, baseline, candidate);
  const { moreTrials, decision, ...ruling } = decideGate(gate, {
    cases: casesOf(baseline, candidate),
    sides: { baseline: { trials: 1 }, new: { trials: 1 } },
    comparability: { why: null },
  });
  const isOpen = ruling.verdict === 'not_enough_evidence';
  return {
    ...ruling,
    decision,
    more_trials: isOpen ? moreTrials : null,
    ask_again: isOpen ? casesToAskAgain(trialsOf(baseline), trialsOf(candidate), optionsOf(gate)) : [],
    skipped: decision.removed.filter(id => candidate.cases.has(id)),
  };
}

/** Cases skipped on both sides say nothing about either. */
function casesOf(baseline: ResultSide, candidate: ResultSide) {
  const ids = new Set([...baseline.cases.keys(), ...candidate.cases.keys()]);
  return [...ids]
    .map(id => ({
      case_id: id,
      baseline: { trials: trialsIn(baseline, id) },
      new: { trials: trialsIn(candidate, id) },
    }))
    .filter(one => one.baseline.trials.length + one.new.trials.length > 0);
}

function trialsIn({ cases }: ResultSide, id: string): ResultCase['trials'] {
  return cases.get(id)?.trials ?? [];
}

function* trialsOf(side: ResultSide): Generator<GateTrial> {
  for (const [id, { trials }] of side.cases) {
    for (const [trial, { verdict, rerun }] of trials.entries())
      yield { case: id, trial, pass: verdict === 'pass', ...(rerun && { rerun }) };
  }
}

function optionsOf({ mode, alpha }: Gate) {
  return { mode, ...(alpha !== undefined && { alpha }) };
}

/** Rejects settings that this command does not check, because ignoring them would look like a pass. */
function checkGate(gate: Gate, baseline: ResultSide, candidate: ResultSide): void {
  const unknown = Object.keys(gate).find(key => !KNOWN.has(key));
  if (unknown !== undefined) {
    throw new Fault(
      'gate_invalid',
      `proctor gate does not support "${unknown}" in the gate file. Use proctor compare.`,
    );
  }
  const names = new Set([...baseline.cases.keys(), ...candidate.cases.keys()]);
  const lost = (gate.critical ?? []).find(id => !names.has(id));
  if (lost !== undefined) {
    throw new Fault(
      'no_case',
      `The critical case "${printable(lost)}" is missing from the results of both sides.${didYouMean(lost, names)}`,
    );
  }
}

const KNOWN: ReadonlySet<string> = new Set<keyof Gate>([
  'mode',
  'tolerances',
  'missing_max_ratio',
  'margin',
  'alpha',
  'confidence',
  'critical',
  'allow_removed',
  'looks',
  // A budget for reruns, which this command does not perform.
  'again',
]);
