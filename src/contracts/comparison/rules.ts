import { STEP_ASKS as NAME_ASKS } from '../agent-step/words.ts';
import { ARTIFACT_ASKS } from '../artifacts/words.ts';
import { boundless } from '../gate/index.ts';
import { firstRepeated } from '../lists.ts';
import { mcnemar } from '../gate/decide/index.ts';
import { must, rulesFor, versionRule } from '../rule.ts';
import { CM9, CM10 } from './case-rules.ts';
import { isWithoutExpectations } from './counts.ts';
import { CM12 } from './changed.ts';
import { CM13 } from './limit-rule.ts';
import type { Comparison } from './shape.ts';
import { discordantIn } from './trial.ts';
import { CM3, CM11 } from './verdict-rule.ts';

const rule = rulesFor<Comparison>();

const CM1 = versionRule('CM1', 'Comparison Version Known', 'comparison.v1', 'a comparison');

const CM2 = rule({
  id: 'CM2',
  title: 'Both Sides Named',
  why: 'A verdict is worthless if its runs cannot be found, or if one run is counted as two.',
  asks: [
    'comparison_id is a name',
    ...NAME_ASKS.name,
    'generated_at is an instant',
    ...NAME_ASKS.instant,
    'sides has baseline and new; each has source (runs or accepted), run_ids, seals and trials',
    'run_ids are unique folder names, as many as trials; there are at most as many seals as trials',
    'if decision is present, no seal is on both sides',
    'environment_hash, target_sha256 and cases_sha256 are content hashes, or null if unknown or different between runs',
    'pack, if present, is read or missing, and source is accepted: causes refer to the pack next to the baseline',
    'new has at least one trial',
  ],
  fields: ['comparison_id', 'generated_at', 'sides'],
  reads: ['decision'],
  *check({ sides, decision }) {
    for (const side of ['baseline', 'new'] as const) {
      const { run_ids, seals, trials, source, pack } = sides[side];
      if (pack !== undefined && source !== 'accepted')
        yield must(`sides.${side}.pack`, 'must be absent unless source is "accepted"');
      const repeated = firstRepeated(run_ids);
      if (repeated !== undefined) yield must(`sides.${side}.run_ids[${repeated}]`, 'is a duplicate');
      if (run_ids.length !== trials)
        yield must(`sides.${side}.trials`, `must be ${run_ids.length}, the number of runs`);
      if (seals.length > trials) yield must(`sides.${side}.seals`, 'must not have more entries than there are trials');
    }
    if (sides.new.trials === 0) yield must('sides.new.trials', 'must be at least 1');
    const shared = decision ? sides.new.seals.findIndex(seal => sides.baseline.seals.includes(seal)) : -1;
    if (shared >= 0) yield must(`sides.new.seals[${shared}]`, 'is also a seal of the baseline');
  },
  breach: ({ sides, ...rest }) => {
    const { run_ids, seals, ...side } = sides.new;
    const twice = { ...side, run_ids: [...run_ids, ...run_ids], seals: [...seals, ...seals], trials: 2 };
    return { ...rest, sides: { ...sides, new: twice } };
  },
});

const CM4 = rule({
  id: 'CM4',
  title: 'Breaches Beyond Their Limit',
  why: 'A failed gate must name the limit that was exceeded, and by how much.',
  asks: [
    'gate has mode (balanced, proven or strict; statistical in older comparisons), tolerances (as in a gate file) and breaches (a list)',
    'margin, alpha, confidence, critical, allow_removed, allow_weakened and looks, if present, are as in a gate file',
    'missing_max_ratio, if present, is a number from 0 to 1',
    'a breach has metric, limit, measured and message, and its metric is among the tolerances',
    'measured is how much worse the metric got; breaches are the regressions among decision.metrics',
    'without decision (older comparisons), measured is above limit for latency_ms and cost_usd, and below limit for score',
  ],
  fields: ['gate'],
  reads: ['decision'],
  *check({ gate: { tolerances, breaches }, decision }) {
    yield* boundless(tolerances, 'gate.tolerances');
    const found = decision?.metrics.filter(({ verdict }) => verdict === 'regression');
    if (found && found.length !== breaches.length)
      yield must('gate.breaches', 'must list exactly the regressions in decision.metrics');
    for (const [index, { metric, limit, measured }] of breaches.entries()) {
      const at = `gate.breaches[${index}]`;
      if (!tolerances[metric]) yield must(`${at}.metric`, 'has no tolerance');
      if (found) {
        const { metric: name, limit: bound, change } = found[index] ?? {};
        if (metric !== name || limit !== bound || measured !== change) yield must(at, 'does not match the trials');
      } else if (metric === 'score' ? measured >= limit : measured <= limit) {
        yield must(`${at}.measured`, 'is within the limit');
      }
    }
  },
  breach: ({ gate, ...rest }) => ({
    ...rest,
    gate: { ...gate, breaches: [{ metric: 'latency_ms', limit: 1_000, measured: 900, message: 'Too slow.' }] },
  }),
});

const CM5 = rule({
  id: 'CM5',
  title: 'Drift Named',
  why: 'Runs in different environments can be compared only if the differences are known.',
  asks: [
    'comparability has state (comparable, drift or not_comparable) and fields (a list)',
    'an entry has a unique field, and baseline and new: strings that differ, or null if unknown',
    'fields is empty if state is comparable, and not empty if it is drift',
    'state is not_comparable if a trial of either side has no seal',
  ],
  fields: ['comparability'],
  reads: ['sides'],
  *check({ comparability: { state, fields }, sides }) {
    if (state === 'comparable' && fields.length > 0)
      yield must('comparability.fields', 'must be empty if the sides are comparable');
    if (state === 'drift' && fields.length === 0)
      yield must('comparability.fields', 'must not be empty if state is "drift"');
    const repeated = firstRepeated(fields.map(({ field }) => field));
    if (repeated !== undefined) yield must(`comparability.fields[${repeated}].field`, 'is a duplicate');
    for (const [index, field] of fields.entries()) {
      if (field.baseline === field.new) yield must(`comparability.fields[${index}]`, 'is the same on both sides');
    }
    const isSealed = [sides.baseline, sides.new].every(({ seals, trials }) => seals.length === trials);
    if (!isSealed && state !== 'not_comparable') {
      yield must('comparability.state', 'must be "not_comparable" if a trial has no seal');
    }
  },
  breach: comparison => ({ ...comparison, comparability: { state: 'drift', fields: [] } }),
});

const CM6 = rule({
  id: 'CM6',
  title: 'Summary Adds Up',
  why: 'A summary that does not match the cases hides some of them.',
  asks: [
    'summary has cases, regressed, improved, same, flaky and missing, all non-negative integers',
    'cases is the number of cases; each other number counts the cases with that change',
    'without_expectations, if present, counts the cases in which every trial of new passed without a score',
  ],
  fields: ['summary'],
  reads: ['cases[].change', 'cases[].new'],
  *check({ summary, cases }) {
    if (summary.cases !== cases.length) yield must('summary.cases', `must be ${cases.length}, the number of cases`);
    const counts = { regressed: 0, improved: 0, same: 0, flaky: 0, missing: 0 };
    for (const { change } of cases) counts[change]++;
    for (const change of ['regressed', 'improved', 'same', 'flaky', 'missing'] as const) {
      if (summary[change] !== counts[change]) yield must(`summary.${change}`, `must be ${counts[change]}`);
    }
    const bare = cases.filter(({ new: { trials } }) => isWithoutExpectations(trials)).length;
    if ((summary.without_expectations ?? bare) !== bare) yield must('summary.without_expectations', `must be ${bare}`);
  },
  breach: ({ summary, ...rest }) => ({ ...rest, summary: { ...summary, same: summary.same + 1 } }),
});

const CM7 = rule({
  id: 'CM7',
  title: 'Statistics Possible',
  why: 'Numbers that no data could produce must not pass as statistics.',
  asks: [
    'mcnemar (older comparisons only) has broke and mended: pairs of trials that went from pass to fail, and from fail to pass',
    'p_value is the p-value of the exact two-sided test, which is 1 if broke equals mended',
    'metrics has latency_ms, ttft_ms, cost_usd and score at most once each; pairs is at most the number of cases',
    'mean, p50 and p95 of baseline and new are numbers, and p50 is at most p95',
    'difference has mean, low and high, with low ≤ mean ≤ high; with one pair, all three are equal',
    'resampled, if present, is less than pairs; more_trials is null or a non-negative integer',
  ],
  fields: ['statistics'],
  reads: ['cases[].baseline', 'cases[].new'],
  *check({ statistics: { mcnemar, metrics }, cases }) {
    if (mcnemar) yield* mcnemarFindings(mcnemar, cases);
    const repeated = firstRepeated(metrics.map(({ name }) => name));
    if (repeated !== undefined) yield must(`statistics.metrics[${repeated}].name`, 'is a duplicate');
    for (const [index, { pairs, resampled, difference, ...sides }] of metrics.entries()) {
      const at = `statistics.metrics[${index}]`;
      if (pairs > cases.length || pairs === 0) yield must(`${at}.pairs`, 'must be from 1 to the number of cases');
      if (resampled !== undefined && resampled >= pairs) yield must(`${at}.resampled`, 'must be less than pairs');
      if (difference.mean < difference.low || difference.mean > difference.high) {
        yield must(`${at}.difference.mean`, 'must be between low and high');
      }
      for (const side of ['baseline', 'new'] as const) {
        if (sides[side].p50 > sides[side].p95) yield must(`${at}.${side}.p50`, 'must not be above p95');
      }
    }
  },
  breach: ({ statistics, ...rest }) => ({
    ...rest,
    statistics: { ...statistics, mcnemar: { broke: 0, mended: 0, p_value: 0.04 } },
  }),
});

function* mcnemarFindings(
  { broke, mended, p_value }: NonNullable<Comparison['statistics']['mcnemar']>,
  cases: Comparison['cases'],
) {
  const sum = { broke: 0, mended: 0 };
  for (const { baseline, new: candidate } of cases) {
    const found = discordantIn(baseline.trials, candidate.trials);
    sum.broke += found.broke;
    sum.mended += found.mended;
  }
  if (broke !== sum.broke) yield must('statistics.mcnemar.broke', `must be ${sum.broke}`);
  if (mended !== sum.mended) yield must('statistics.mcnemar.mended', `must be ${sum.mended}`);
  const exact = mcnemar(broke, mended);
  if (Math.abs(p_value - exact) > 1e-6 * Math.max(1e-6, exact))
    yield must('statistics.mcnemar.p_value', 'does not match the pairs');
}

const CM8 = rule({
  id: 'CM8',
  title: 'No Case Twice',
  why: 'A case that appears twice would count twice.',
  asks: [
    'cases is a list; case_id is a case id, unique, ignoring letter case',
    ...ARTIFACT_ASKS.caseId,
    'title is a string or null; suite, if present, is a string',
  ],
  fields: ['cases', 'cases[].case_id', 'cases[].title', 'cases[].suite'],
  *check({ cases }) {
    const repeated = firstRepeated(cases.map(({ case_id }) => case_id.toLowerCase()));
    if (repeated !== undefined) yield must(`cases[${repeated}].case_id`, 'repeats an earlier id');
  },
  breach: ({ cases: [first, ...others], ...rest }) => ({
    ...rest,
    cases: [first, ...others.map(one => ({ ...one, case_id: first?.case_id }))],
  }),
});

export const comparisonRules = [CM1, CM2, CM3, CM4, CM5, CM6, CM7, CM8, CM9, CM10, CM11, CM12, CM13];
