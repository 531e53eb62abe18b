import { Fault } from '../../base/fault.ts';
import type { CaseChange, ComparedCase, ComparedSide, Comparison } from '../../contracts/comparison/index.ts';
import { isWithoutExpectations, standingOf } from '../../contracts/comparison/index.ts';
import { caseChange } from './case-change.ts';
import { agreed, comparabilityOf, driftOf } from './comparability.ts';
import type { ArtifactReader, CaseName, CaseReader, Side } from '../compare-input.ts';
import { decideGate, type Gate } from './gate.ts';
import { Metrics } from './metrics.ts';
import { firstTrial, type Pair, pairsOf } from './pairing.ts';
import { rootCause } from '../causes/root-cause.ts';

export interface ComparisonOptions {
  readonly comparisonId: string;
  readonly generatedAt: string;
  /** Called only for cases that fail in the candidate, one at a time. */
  readonly artifactOf: ArtifactReader;
  /** Called only for cases that differ between the sides. Without it, the differences stay unknown. */
  readonly caseOf?: CaseReader;
  readonly names?: ReadonlyMap<string, CaseName>;
}

/** Compares a candidate with its baseline. A baseline that does not exist yet has no trials. */
export function compareSides(baseline: Side, candidate: Side, gate: Gate, options: ComparisonOptions): Comparison {
  const { comparisonId, generatedAt } = options;
  if (candidate.trials.length === 0) {
    throw new Fault(
      'nothing_to_compare',
      'There is no candidate run. Create one: proctor run suite CASES --base-url URL --as new',
    );
  }
  const fields = driftOf(baseline, candidate);
  const explain = explainer(baseline, candidate, fields, options);
  const cases: ComparedCase[] = [];
  const sums = new Sums();
  // A pair holds its complete evaluations. Only one of up to 100,000 pairs is in memory at a time.
  for (const pair of pairsOf(baseline, candidate)) {
    sums.add(pair);
    cases.push(explain(pair));
  }
  const comparability = comparabilityOf(baseline, candidate, fields, sums);
  const { state } = comparability;
  const measured = {
    sides: { baseline: sideOf(baseline), new: sideOf(candidate) },
    summary: sums.summary(),
    cases,
  };
  const { moreTrials, ...ruling } = decideGate(gate, { ...measured, comparability });
  return {
    schema_version: 'comparison.v1',
    comparison_id: comparisonId,
    generated_at: generatedAt,
    ...ruling,
    comparability: { state, fields },
    ...measured,
    statistics: { metrics: sums.metrics.compared(), more_trials: moreTrials },
  };
}

/** The totals over all pairs. */
class Sums {
  readonly metrics = new Metrics();
  readonly #changes = { regressed: 0, improved: 0, same: 0, flaky: 0, missing: 0 };
  #cases = 0;
  #withoutExpectations = 0;
  /** Cases on both sides. */
  common = 0;
  /** Common cases with different hashes. */
  askedOtherwise = 0;

  add(pair: Pair): void {
    this.#cases++;
    this.#changes[pair.change.change]++;
    if (isWithoutExpectations(pair.candidate)) this.#withoutExpectations++;
    this.metrics.add(pair.baseline, pair.candidate);
    const { before, now } = firstKnown(pair);
    if (before < 0 || now < 0) return;
    this.common++;
    if (isOtherCase(pair)) this.askedOtherwise++;
  }

  summary(): Comparison['summary'] {
    return { cases: this.#cases, ...this.#changes, without_expectations: this.#withoutExpectations };
  }
}

/** The number of the first trial on each side that includes the case, or -1. */
function firstKnown({ judged }: Pair): { readonly before: number; readonly now: number } {
  return { before: judged.baseline.findIndex(Boolean), now: judged.candidate.findIndex(Boolean) };
}

function isOtherCase(pair: Pair): boolean {
  const { before, now } = firstKnown(pair);
  const [was, is] = [pair.judged.baseline[before], pair.judged.candidate[now]];
  return was !== undefined && is !== undefined && was.case_sha256 !== is.case_sha256;
}

/** How a case changed since the baseline; undefined if it did not. */
function changeIn(pair: Pair, baseline: Side, candidate: Side, caseOf?: CaseReader): CaseChange | undefined {
  if (!isOtherCase(pair)) return undefined;
  const { before, now } = firstKnown(pair);
  const [old, fresh] = [baseline.trials[before], candidate.trials[now]];
  const was = old && caseOf?.(old, pair.caseId);
  const is = fresh && caseOf?.(fresh, pair.caseId);
  return was && is ? caseChange(was, is) : { differences: null };
}

function sideOf(side: Side): ComparedSide {
  const { source, trials } = side;
  return {
    source,
    run_ids: trials.map(({ runId }) => runId),
    seals: trials.flatMap(({ sealSha256 }) => sealSha256 ?? []),
    trials: trials.length,
    ...(side.pack && { pack: side.pack }),
    environment_hash: agreed(side, ({ environmentHash }) => environmentHash),
    target_sha256: agreed(side, ({ targetSha256 }) => targetSha256),
    cases_sha256: agreed(side, ({ casesSha256 }) => casesSha256),
    ...(trials.some(({ conditions }) => conditions?.['settings.model_mode'] === 'replay') && { replayed: true }),
  };
}

function explainer(
  baseline: Side,
  candidate: Side,
  drift: Comparison['comparability']['fields'],
  { artifactOf, caseOf, names }: ComparisonOptions,
): (pair: Pair) => ComparedCase {
  const divergenceOf = (pair: Pair, failed: number): ComparedCase['divergence'] => {
    const reference = firstTrial(pair.baseline, 'passed');
    if (reference === undefined) return null;
    const before = baseline.trials[reference];
    const now = candidate.trials[failed];
    return rootCause({
      judged: { baseline: pair.judged.baseline[reference], candidate: pair.judged.candidate[failed] },
      artifacts: {
        baseline: before && artifactOf(before, pair.caseId),
        candidate: now && artifactOf(now, pair.caseId),
      },
      drift,
      change: pair.change.change,
    });
  };
  return pair => {
    const { caseId, change, judged } = pair;
    const { title, ...group } = names?.get(caseId) ?? {};
    const failed = pair.candidate.findIndex(trial => standingOf(trial) === 'failed');
    const assertions = judged.candidate[failed]?.assertions ?? [];
    const changed = changeIn(pair, baseline, candidate, caseOf);
    const compared: ComparedCase = {
      case_id: caseId,
      title: title ?? null,
      change: change.change,
      baseline: { trials: pair.baseline },
      new: { trials: pair.candidate },
      failing: assertions
        .filter(({ status }) => status === 'fail')
        .slice(0, FAILING_MAX)
        .map(({ name, message, at }) => ({ name, message, at })),
      divergence: failed < 0 ? null : divergenceOf(pair, failed),
    };
    if (change.side_missing) compared.side_missing = change.side_missing;
    if (changed) compared.changed = changed;
    return Object.assign(compared, group);
  };
}

/** The limit on failed expectations listed per case. */
const FAILING_MAX = 50;
