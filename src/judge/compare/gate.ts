import {
  type ComparedSide,
  checkNewSide,
  type Comparison,
  decideComparison,
  type Decision,
  type DecisionInput,
  EXIT_CODES,
  metricSentence,
  VERDICT_OF,
} from '../../contracts/comparison/index.ts';
import type { GateMode } from '../../contracts/gate/decide/index.ts';
import { unmetText } from '../../contracts/gate/limits/index.ts';
import { type GateFile, MISSING_MAX_RATIO, type Tolerances } from '../../contracts/gate/index.ts';
import type { Comparability } from './comparability.ts';

export type Gate = Omit<GateFile, 'schema_version' | 'mode' | 'tolerances' | 'missing_max_ratio'> & {
  readonly mode: GateMode;
  readonly tolerances: Tolerances;
  readonly missing_max_ratio: number;
};

/** Completes the settings of a gate file with defaults. */
export function gateOf(file: Partial<GateFile>): Gate {
  const { schema_version: _version, mode, tolerances = {}, missing_max_ratio = MISSING_MAX_RATIO, ...others } = file;
  return { mode: mode ?? 'balanced', tolerances, missing_max_ratio, ...others };
}

export interface Measured extends DecisionInput {
  readonly sides: Readonly<Record<'baseline' | 'new', Pick<ComparedSide, 'trials' | 'replayed'>>>;
  readonly comparability: Pick<Comparability, 'why'>;
}

export type Ruling = Pick<Comparison, 'verdict' | 'reason' | 'exit_code' | 'gate'> & {
  readonly decision: Decision;
  readonly moreTrials: number | null;
};

/**
 * The verdict. Limits on the candidate come first, because they do not depend on the baseline. Sides that cannot be
 * compared are not judged further. Missing evidence never hides a regression. "No regression" requires enough evidence
 * from both sides.
 */
export function decideGate(gate: Gate, { comparability, ...measured }: Measured): Ruling {
  const { decision, reason, moreTrials } = decideComparison(gate, measured);
  const breaches = breachesOf(decision);
  const checks = checkNewSide(gate, measured.cases);
  const as = (verdict: Comparison['verdict'], because: string): Ruling => ({
    verdict,
    reason: because,
    exit_code: EXIT_CODES[verdict],
    gate: { ...gate, breaches, ...(checks.length > 0 && { checks }) },
    decision,
    moreTrials,
  });
  const found = VERDICT_OF[decision.cause];
  const hopeless = measured.sides.baseline.trials === 0 ? NO_BASELINE : comparability.why;
  const unmet = unmetText(checks);
  if (unmet !== undefined)
    return as('regression', hopeless === null && found === 'regression' ? `${unmet} ${reason}` : unmet);
  if (hopeless !== null) return as('not_enough_evidence', hopeless);
  const open = decision.metrics
    .filter(({ verdict }) => verdict === 'not_enough_evidence')
    .map(finding => metricSentence(finding) ?? '');
  if (breaches.length > 0) {
    const beyond = breaches.map(({ message }) => message);
    return as('regression', [...(found === 'regression' ? [reason] : []), ...beyond, ...open].join(' '));
  }
  if (found === 'no_regression' && open.length > 0) return as('not_enough_evidence', open.join(' '));
  return as(found, [reason, ...open].join(' '));
}

const NO_BASELINE =
  'There is no baseline yet. Create one with proctor run suite --as baseline; proctor baseline accept turns it into a document to commit.';

function breachesOf({ metrics }: Decision): Comparison['gate']['breaches'] {
  return metrics.flatMap(finding => {
    const { metric, limit, change, verdict } = finding;
    if (verdict !== 'regression' || change === null) return [];
    return [{ metric, limit, measured: change, message: metricSentence(finding) ?? '' }];
  });
}
