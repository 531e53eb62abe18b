import { Fault } from '../base/fault.ts';
import type { CaseChange, ComparedCase, ComparedSide, Comparison } from '../contracts/comparison/index.ts';
import { standingOf } from '../contracts/comparison/index.ts';
import { caseChange } from './case-change.ts';
import { agreed, comparabilityOf } from './comparability.ts';
import type { ArtifactReader, CaseName, CaseReader, JudgedCase, Side } from './compare-input.ts';
import { decide, type Gate } from './gate.ts';
import { Metrics } from './metrics.ts';
import { firstTrial, type Pair, pairsOf } from './pairing.ts';
import { rootCause } from './root-cause.ts';

export interface ComparisonOptions {
  readonly comparisonId: string;
  readonly generatedAt: string;
  /** Asked only for cases that fail on the new side, one case at a time. */
  readonly artifactOf: ArtifactReader;
  /** Asked only for cases that are not the same on both sides. Without it, nothing shows how they differ. */
  readonly caseOf?: CaseReader;
  readonly names?: ReadonlyMap<string, CaseName>;
}

/** Holds a new side against its baseline. A baseline without trials is one that does not exist yet. */
export function compareSides(baseline: Side, candidate: Side, gate: Gate, options: ComparisonOptions): Comparison {
  const { comparisonId, generatedAt } = options;
  if (candidate.trials.length === 0) {
    throw new Fault(
      'nothing_to_compare',
      'There is no run of the new side. proctor run suite CASES --base-url URL --as new makes one.',
    );
  }
  const pairs = [...pairsOf(baseline, candidate)];
  const comparability = comparabilityOf(baseline, candidate, commonCases(pairs));
  const { state, fields } = comparability;
  const explain = explainer(baseline, candidate, fields, options);
  const cases = pairs.map(explain);
  const measured = {
    sides: { baseline: sideOf(baseline), new: sideOf(candidate) },
    summary: summaryOf(pairs),
    cases,
  };
  const { moreTrials, ...ruling } = decide(gate, { ...measured, comparability });
  return {
    schema_version: 'comparison.v1',
    comparison_id: comparisonId,
    generated_at: generatedAt,
    ...ruling,
    comparability: { state, fields },
    ...measured,
    statistics: { metrics: metricsOf(pairs), more_trials: moreTrials },
  };
}

function summaryOf(pairs: readonly Pair[]): Comparison['summary'] {
  const summary = { cases: pairs.length, regressed: 0, improved: 0, same: 0, flaky: 0, missing: 0 };
  let without_expectations = 0;
  for (const { change, judged } of pairs) {
    summary[change.change]++;
    const known = judged.candidate.filter(one => one !== undefined);
    if (known.length > 0 && known.every(isUnjudged)) without_expectations++;
  }
  return { ...summary, without_expectations };
}

/** It was answered, and nothing was expected of the answer. */
function isUnjudged({ verdict, assertions }: JudgedCase): boolean {
  return verdict === 'pass' && assertions.length === 0;
}

function metricsOf(pairs: readonly Pair[]): Comparison['statistics']['metrics'] {
  const metrics = new Metrics();
  for (const { baseline, candidate } of pairs) metrics.add(baseline, candidate);
  return metrics.compared();
}

function commonCases(pairs: readonly Pair[]): { common: number; askedOtherwise: number } {
  let common = 0;
  let askedOtherwise = 0;
  for (const pair of pairs) {
    const { before, now } = firstKnown(pair);
    if (before < 0 || now < 0) continue;
    common++;
    if (isOtherCase(pair)) askedOtherwise++;
  }
  return { common, askedOtherwise };
}

/** On each side, the number of the first trial that knows the case, or -1. */
function firstKnown({ judged }: Pair): { readonly before: number; readonly now: number } {
  return { before: judged.baseline.findIndex(Boolean), now: judged.candidate.findIndex(Boolean) };
}

function isOtherCase(pair: Pair): boolean {
  const { before, now } = firstKnown(pair);
  const [was, is] = [pair.judged.baseline[before], pair.judged.candidate[now]];
  return was !== undefined && is !== undefined && was.case_sha256 !== is.case_sha256;
}

/** How a case differs from what it was; undefined where it is the same. */
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

/** Makes of a pair what the comparison tells of it. */
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
    return {
      case_id: caseId,
      title: title ?? null,
      ...group,
      ...change,
      ...(changed && { changed }),
      baseline: { trials: [...pair.baseline] },
      new: { trials: [...pair.candidate] },
      failing: assertions
        .filter(({ status }) => status === 'fail')
        .slice(0, FAILING_MAX)
        .map(({ name, message, at }) => ({ name, message, at })),
      divergence: failed < 0 ? null : divergenceOf(pair, failed),
    };
  };
}

/** More expectations of one case that fail than this are not told one by one. */
const FAILING_MAX = 50;
