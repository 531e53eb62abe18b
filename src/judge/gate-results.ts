import { Fault } from '../base/fault.ts';
import { didYouMean } from '../base/nearest.ts';
import { printable } from '../base/printable.ts';
import { type Comparison, decideComparison, EXIT_CODES, VERDICT_OF } from '../contracts/comparison/index.ts';
import { type CaseMeasure, casesToAskAgain, type GateTrial } from '../contracts/gate/decide/index.ts';
import type { Gate } from './gate.ts';
import { type MetricFinding, metricFindings } from './metric-limits.ts';
import type { Metric } from './results/row.ts';
import type { ResultCase, ResultSide } from './results/side.ts';

/** What the gate says of two sides. */
export interface GatedResults {
  readonly verdict: Comparison['verdict'];
  readonly exit_code: Comparison['exit_code'];
  readonly reason: string;
  readonly decision: NonNullable<Comparison['decision']>;
  /** About how many more trials of every case on both sides would settle it; null where that is not what is missing. */
  readonly more_trials: number | null;
  /** Cases that one more trial on both sides helps to settle. */
  readonly ask_again: readonly string[];
  readonly metrics: readonly MetricFinding[];
  /** Cases that have trials in the baseline, and are only listed as skipped in the new results. */
  readonly skipped: readonly string[];
}

/** Decides on results of any tool as `compare` decides on runs. */
export function gateResults(baseline: ResultSide, candidate: ResultSide, gate: Gate): GatedResults {
  checkGate(gate, baseline, candidate);
  const cases = casesOf(baseline, candidate);
  const { decision, reason, moreTrials } = decideComparison(gate, cases, 0);
  const metrics = metricFindings(gate.tolerances, metric => measuresOf(baseline, candidate, metric), gate.confidence);
  const found = VERDICT_OF[decision.cause];
  const verdict = decision.cause === 'no_pairs' ? found : worstOf([found, ...metrics.map(one => one.verdict)]);
  const told = metrics.filter(one => one.verdict === verdict).flatMap(({ says }) => says ?? []);
  const isOpen = verdict === 'not_enough_evidence';
  return {
    verdict,
    exit_code: EXIT_CODES[verdict],
    reason: [...(found === verdict ? [reason] : []), ...told].join(' '),
    decision,
    more_trials: moreTrials,
    ask_again: isOpen ? casesToAskAgain(trialsOf(baseline), trialsOf(candidate), optionsOf(gate)) : [],
    metrics,
    skipped: decision.removed.filter(id => candidate.cases.has(id)),
  };
}

/** A regression comes before what is open, and what is open before "no regression". */
function worstOf(verdicts: readonly Comparison['verdict'][]): Comparison['verdict'] {
  const order = ['regression', 'not_enough_evidence'] as const;
  return order.find(one => verdicts.includes(one)) ?? 'no_regression';
}

/** Cases that were skipped on both sides say nothing of either. */
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

function measuresOf(baseline: ResultSide, candidate: ResultSide, metric: Metric): CaseMeasure[] {
  return [...baseline.cases].map(([id, { measured }]) => ({
    baseline: measured[metric],
    candidate: candidate.cases.get(id)?.measured[metric] ?? [],
  }));
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

/** A setting that is not kept must be refused: it would look as if it held. */
function checkGate(gate: Gate, baseline: ResultSide, candidate: ResultSide): void {
  const unknown = Object.keys(gate).find(key => !KNOWN.has(key));
  if (unknown !== undefined) {
    throw new Fault('gate_invalid', `proctor gate does not check "${unknown}" of the gate file. Use proctor compare.`);
  }
  const names = new Set([...baseline.cases.keys(), ...candidate.cases.keys()]);
  const lost = (gate.critical ?? []).find(id => !names.has(id));
  if (lost !== undefined) {
    throw new Fault(
      'no_case',
      `The critical case "${printable(lost)}" is in the results of neither side.${didYouMean(lost, names)}`,
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
]);
