import {
  checkNewSide,
  type Comparison,
  decideComparison,
  EXIT_CODES,
  VERDICT_OF,
} from '../contracts/comparison/index.ts';
import type { GateMode } from '../contracts/gate/decide/index.ts';
import { unmetText } from '../contracts/gate/limits/index.ts';
import { type GateFile, MISSING_MAX_RATIO, type Tolerances } from '../contracts/gate/index.ts';
import type { Comparability } from './comparability.ts';

/** What makes a comparison fail. */
export type Gate = Omit<GateFile, 'schema_version' | 'mode' | 'tolerances' | 'missing_max_ratio'> & {
  readonly mode: GateMode;
  readonly tolerances: Tolerances;
  readonly missing_max_ratio: number;
};

/** A gate out of what its file says, and of what the file leaves open. */
export function gateOf({
  schema_version: _,
  mode = 'balanced',
  tolerances = {},
  missing_max_ratio = MISSING_MAX_RATIO,
  ...others
}: Partial<GateFile>): Gate {
  return { mode, tolerances, missing_max_ratio, ...others };
}

export type Measured = Pick<Comparison, 'summary' | 'sides' | 'cases'> & {
  readonly statistics: Pick<Comparison['statistics'], 'metrics'>;
  readonly comparability: Comparability;
};

export type Ruling = Pick<Comparison, 'verdict' | 'reason' | 'exit_code' | 'gate' | 'decision'> & {
  readonly moreTrials: number | null;
};

/**
 * The verdict. A limit on the new side comes first, because it holds whatever the baseline is. Sides that cannot be
 * compared are not judged beyond it. A regression that was found stands whatever else is missing. No regression is said
 * only of sides that show enough of it.
 */
export function decide(gate: Gate, { comparability, sides, summary, statistics, cases }: Measured): Ruling {
  const { breaches, unknown } = breachesOf(gate.tolerances, statistics.metrics);
  const { decision, reason, moreTrials } = decideComparison(gate, cases, summary.without_expectations ?? 0);
  const checks = checkNewSide(gate, cases);
  const as = (verdict: Comparison['verdict'], because: string): Ruling => ({
    verdict,
    reason: because,
    exit_code: EXIT_CODES[verdict],
    gate: { ...gate, breaches, ...(checks.length > 0 && { checks }) },
    decision,
    moreTrials,
  });
  const found = VERDICT_OF[decision.cause];
  const hopeless = sides.baseline.trials === 0 ? NO_BASELINE : comparability.why;
  const unmet = unmetText(checks);
  if (unmet !== undefined)
    return as('regression', sentences([unmet, hopeless === null && found === 'regression' ? reason : undefined]));
  if (hopeless !== null) return as('not_enough_evidence', hopeless);
  if (breaches.length > 0) {
    const limits = `${counted(breaches.length, 'limit')} of the gate ${breaches.length === 1 ? 'is' : 'are'} exceeded.`;
    return as('regression', sentences([found === 'regression' ? reason : undefined, limits, unknown]));
  }
  if (found === 'no_regression' && unknown !== undefined) return as('not_enough_evidence', unknown);
  return as(found, sentences([reason, unknown]));
}

const NO_BASELINE =
  'There is no baseline yet: proctor run suite with --as baseline makes a run of one, and proctor baseline accept a document to commit.';

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

function sentences(parts: readonly (string | undefined)[]): string {
  return parts.filter(part => part !== undefined).join(' ');
}

function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`;
}

/** Four digits that mean something, as few as are needed. */
function figure(value: number): string {
  return String(Number(value.toPrecision(4)));
}
