import { type Comparison, EXIT_CODES, SIGNIFICANT } from '../contracts/comparison/index.ts';
import { type GateFile, MISSING_MAX_RATIO, type Tolerances } from '../contracts/gate/index.ts';
import type { Comparability } from './comparability.ts';

/** What makes a comparison fail. */
export interface Gate {
  readonly mode: 'strict' | 'statistical';
  readonly tolerances: Tolerances;
  readonly missingMaxRatio: number;
}

/** A gate out of what its file says, and of what the file leaves open. */
export function gateOf({
  mode = 'strict',
  tolerances = {},
  missing_max_ratio = MISSING_MAX_RATIO,
}: Partial<GateFile>): Gate {
  return { mode, tolerances, missingMaxRatio: missing_max_ratio };
}

export type Measured = Pick<Comparison, 'summary' | 'statistics' | 'sides'> & { readonly comparability: Comparability };

export type Decision = Pick<Comparison, 'verdict' | 'reason' | 'exit_code' | 'gate'>;

/**
 * The verdict. What cannot be compared is not judged; a regression that was found stands whatever else is missing; and
 * no regression is said only of sides that show enough of one.
 */
export function decide(gate: Gate, measured: Measured): Decision {
  const { mode, tolerances, missingMaxRatio } = gate;
  const { breaches, unknown } = breachesOf(tolerances, measured.statistics.metrics);
  const as = (verdict: Comparison['verdict'], reason: string): Decision => ({
    verdict,
    reason,
    exit_code: EXIT_CODES[verdict],
    gate: { mode, tolerances, missing_max_ratio: missingMaxRatio, breaches },
  });
  const { comparability, sides } = measured;
  if (sides.baseline.trials === 0) return as('not_enough_evidence', NO_BASELINE);
  if (comparability.why !== null) return as('not_enough_evidence', comparability.why);
  const worse = worseBy(gate, measured);
  if (worse !== undefined || breaches.length > 0) {
    const limits =
      breaches.length > 0
        ? `${counted(breaches.length, 'limit')} of the gate ${breaches.length === 1 ? 'was' : 'were'} breached`
        : undefined;
    const found = `${[worse, limits].filter(part => part !== undefined).join(', and ')}.`;
    return as('regression', sentences([found, unknown]));
  }
  const gap = gapIn(gate, measured);
  if (gap !== undefined || unknown !== undefined) return as('not_enough_evidence', sentences([gap, unknown]));
  return as('no_regression', calm(measured));
}

/** What is said where the gate stays open. Of cases that regressed it says why they did not close it. */
function calm({ summary, statistics }: Measured): string {
  if (summary.regressed === 0) return `None of ${counted(summary.cases, 'case')} regressed${besides(summary)}.`;
  const { broke, mended, p_value } = statistics.mcnemar;
  const why =
    broke > mended
      ? `This could be chance: ${trialsOf(statistics)} (p = ${probability(p_value)}, and the gate closes below ${SIGNIFICANT}).`
      : `No more got worse than better: ${trialsOf(statistics)}.`;
  return `${regressedOf(summary)}${besides(summary)}. ${why} ${STRICT_WOULD}`;
}

const STRICT_WOULD = 'The strict gate would stop here.';

const NO_BASELINE =
  'There is no baseline yet: proctor run suite with --as baseline makes a run of one, and proctor baseline accept a document to commit.';

/** What shows that the new side is worse, if anything does. */
function worseBy({ mode }: Gate, { summary, statistics }: Measured): string | undefined {
  const { broke, mended, p_value } = statistics.mcnemar;
  if (mode === 'strict') {
    return summary.regressed > 0 ? regressedOf(summary) : undefined;
  }
  if (broke <= mended || p_value >= SIGNIFICANT) return undefined;
  return `${regressedOf(summary)}: ${trialsOf(statistics)}, which is hardly chance (p = ${probability(p_value)})`;
}

function regressedOf({ regressed, cases }: Comparison['summary']): string {
  return `${regressed === 0 ? 'None' : regressed} of ${counted(cases, 'case')} regressed`;
}

/** Trials of the same number and case, one of each side, that are not of one mind. */
function trialsOf({ mcnemar: { broke, mended } }: Measured['statistics']): string {
  return `${counted(broke, 'trial')} passed before and ${broke === 1 ? 'fails' : 'fail'} now, and ${mended} the other way round`;
}

/** Why nothing can be said, though nothing bad was found. */
function gapIn({ mode, missingMaxRatio }: Gate, { summary, statistics }: Measured): string | undefined {
  const { broke, mended } = statistics.mcnemar;
  if (summary.cases > 0 && summary.missing > missingMaxRatio * summary.cases) {
    return `${summary.missing} of ${counted(summary.cases, 'case')} are missing on one side, and at most ${percent(missingMaxRatio)} may be.`;
  }
  if (mode === 'statistical' && broke > mended && broke + mended < DISCORDANT_MIN) {
    const more = statistics.more_trials;
    const many = more === null ? 'More repetitions' : `About ${counted(more, 'more repetition')}`;
    const but = summary.regressed > 0 ? '.' : ', but';
    const strict = summary.regressed > 0 ? ` ${STRICT_WOULD}` : '';
    return `${regressedOf(summary)}${but} ${trialsOf(statistics)}, too few to tell from chance. ${many} of the suite would tell.${strict}`;
  }
  return undefined;
}

/** Fewer pairs that changed sides than this cannot be significant, even if all broke. */
const DISCORDANT_MIN = 6;

type Breaches = Comparison['gate']['breaches'];

/** What is beyond its limit, in the unit of the metric, and what the gate bounds and nobody measured. */
function breachesOf(
  tolerances: Tolerances,
  metrics: Comparison['statistics']['metrics'],
): { readonly breaches: Breaches; readonly unknown: string | undefined } {
  const breaches: Breaches = [];
  const unmeasured: string[] = [];
  for (const metric of ['latency_ms', 'cost_usd', 'score'] as const) {
    if (!tolerances[metric]) continue;
    const compared = metrics.find(({ name }) => name === metric);
    if (!compared) {
      unmeasured.push(metric);
    } else if (metric === 'score') {
      const limit = compared.baseline.mean - (tolerances.score?.max_decrease ?? 0);
      const measured = compared.new.mean;
      if (measured < limit)
        breaches.push({
          metric,
          limit,
          measured,
          message: `The mean score is ${figure(measured)}, and at least ${figure(limit)} is asked for.`,
        });
    } else {
      const { statistic, max_increase_ratio: ratio, max_increase: step } = tolerances[metric] ?? { statistic: 'mean' };
      const before = compared.baseline[statistic];
      const limit = Math.min(
        ratio === undefined ? Infinity : before * (1 + ratio),
        step === undefined ? Infinity : before + step,
      );
      const measured = compared.new[statistic];
      if (measured > limit)
        breaches.push({
          metric,
          limit,
          measured,
          message: `${statistic} of ${metric} is ${figure(measured)}, and at most ${figure(limit)} is allowed.`,
        });
    }
  }
  const names = unmeasured.join(' and ');
  const unknown = `The gate bounds ${names}, and no case tells ${unmeasured.length === 1 ? 'it' : 'them'} on both sides.`;
  return { breaches, unknown: unmeasured.length === 0 ? undefined : unknown };
}

function besides({ improved, flaky, missing }: Comparison['summary']): string {
  const parts = [
    ...(improved > 0 ? [`${improved} improved`] : []),
    ...(flaky > 0 ? [`${flaky} ${flaky === 1 ? 'is' : 'are'} flaky`] : []),
    ...(missing > 0 ? [`${missing} ${missing === 1 ? 'is' : 'are'} missing`] : []),
  ];
  return parts.length > 0 ? `; ${parts.join(', ')}` : '';
}

function sentences(parts: readonly (string | undefined)[]): string {
  return parts.filter(part => part !== undefined).join(' ');
}

function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`;
}

function percent(share: number): string {
  return `${figure(share * 100)} %`;
}

function probability(p: number): string {
  return p < 0.0001 ? 'less than 0.0001' : figure(p);
}

/** Four digits that mean something, as few as are needed. */
function figure(value: number): string {
  return String(Number(value.toPrecision(4)));
}
