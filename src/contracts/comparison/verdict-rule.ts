import { MISSING_MAX_RATIO } from '../gate/index.ts';
import { must, rulesFor } from '../rule.ts';
import { VERDICT_OF } from './causes.ts';
import { decideComparison } from './decision.ts';
import type { Comparison, Decision } from './shape.ts';

/** The significance level of older versions. */
const SIGNIFICANT = 0.05;

export const EXIT_CODES = { no_regression: 0, regression: 1, not_enough_evidence: 3 } as const;

const rule = rulesFor<Comparison>();

export const CM3 = rule({
  id: 'CM3',
  title: 'Verdict Follows',
  why: 'A verdict that follows from the recorded facts can be trusted without trusting its author.',
  asks: [
    'verdict is no_regression with exit_code 0, regression with 1, or not_enough_evidence with 3; reason is not blank',
    'verdict is regression if a limit on the candidate is not met',
    'otherwise it is not_enough_evidence if the sides are not comparable, or one of them has no trials',
    'otherwise it is regression if there is a breach',
    'otherwise it is the verdict for decision.cause, but not no_regression if a metric of decision is undecided',
    'without decision (older comparisons), it is regression if mode is strict and a case regressed, or mode is statistical, broke exceeds mended, and p_value is below 0.05',
    'without decision, it is not no_regression if the share of missing cases exceeds missing_max_ratio (default 0.05)',
  ],
  fields: ['verdict', 'reason', 'exit_code'],
  reads: ['gate', 'comparability', 'sides', 'summary', 'statistics', 'decision'],
  *check({ verdict, exit_code, gate, comparability, sides, summary, statistics, decision }) {
    if (exit_code !== EXIT_CODES[verdict]) yield must('exit_code', `must be ${EXIT_CODES[verdict]} with this verdict`);
    const isIncomparable =
      comparability.state === 'not_comparable' || sides.baseline.trials === 0 || sides.new.trials === 0;
    const found = foundIn(decision) ?? (isWorse({ gate, summary, statistics }) ? 'regression' : undefined);
    const isBroken = gate.checks?.some(({ is_met }) => !is_met) === true;
    const isRegression = isBroken || (!isIncomparable && (gate.breaches.length > 0 || found === 'regression'));
    const hasTooManyMissing = summary.missing > (gate.missing_max_ratio ?? MISSING_MAX_RATIO) * summary.cases;
    if (isIncomparable && !isBroken && verdict !== 'not_enough_evidence') {
      yield must('verdict', 'must be "not_enough_evidence" if the sides cannot be compared');
    } else if (isRegression !== (verdict === 'regression')) {
      yield must('verdict', `must ${isRegression ? '' : 'not '}be "regression" according to the gate`);
    } else if (found === 'not_enough_evidence' && verdict === 'no_regression') {
      yield must('verdict', 'must be "not_enough_evidence" according to the gate');
    } else if (!decision && hasTooManyMissing && verdict === 'no_regression') {
      yield must('verdict', 'must not be "no_regression" if too many cases are missing');
    }
  },
  breach: comparison => ({ ...comparison, verdict: 'no_regression', exit_code: 0 }),
});

function foundIn(decision: Decision | undefined): Comparison['verdict'] | undefined {
  if (!decision) return undefined;
  const found = VERDICT_OF[decision.cause];
  const isOpen = decision.metrics.some(({ verdict }) => verdict === 'not_enough_evidence');
  return found === 'no_regression' && isOpen ? 'not_enough_evidence' : found;
}

/** The criterion of older versions. */
function isWorse({ gate, summary, statistics }: Pick<Comparison, 'gate' | 'summary' | 'statistics'>): boolean {
  if (gate.mode === 'strict') return summary.regressed > 0;
  const { broke = 0, mended = 0, p_value = 1 } = statistics.mcnemar ?? {};
  return broke > mended && p_value < SIGNIFICANT;
}

export const CM11 = rule({
  id: 'CM11',
  title: 'Decision Follows From Trials',
  why: 'The verifier recomputes the decision from the trials, so a forged number cannot support a verdict.',
  asks: [
    'decision, if present, has cause, cases, drop, high, p, detectable, rates, metrics, broken, suspects, removed and weakened',
    'each is what the gate computes from the trials, from changed and from its settings',
    'drop, high, p and detectable are null if no case has trials on both sides, or if mode is strict',
    'mode is not statistical if decision is present',
    'decision is present if mode is balanced or proven, or if statistics has no mcnemar',
    'more_trials is what the gate computes; reason starts with the gate’s sentence unless something else decides the verdict',
  ],
  fields: ['decision'],
  reads: [
    'gate',
    'cases[].baseline',
    'cases[].new',
    'cases[].changed',
    'sides',
    'statistics',
    'reason',
    'verdict',
    'comparability',
  ],
  *check({ decision, gate, cases, comparability, sides, statistics, reason, verdict }) {
    const { mode } = gate;
    if (!decision) {
      // Older comparisons have mcnemar instead. Without either, nothing supports the verdict.
      if (mode === 'balanced' || mode === 'proven' || !statistics.mcnemar) yield must('decision', 'is missing');
      return;
    }
    if (mode === 'statistical') {
      yield must('gate.mode', 'must be balanced, proven or strict');
      return;
    }
    const again = decideComparison({ ...gate, mode }, { cases, sides });
    for (const key of Object.keys(again.decision) as (keyof Decision)[]) {
      if (!isSame(decision[key], again.decision[key])) yield must(`decision.${key}`, 'does not match the trials');
    }
    if (statistics.more_trials !== again.moreTrials) yield must('statistics.more_trials', 'does not match the trials');
    const isAlone = comparability.state !== 'not_comparable' && sides.baseline.trials > 0 && gate.breaches.length === 0;
    if (isAlone && !gate.checks?.length && VERDICT_OF[decision.cause] === verdict && !reason.startsWith(again.reason))
      yield must('reason', 'does not start with the sentence for this decision');
  },
  breach: ({ decision, ...rest }) => ({ ...rest, decision: decision && { ...decision, cases: decision.cases + 1 } }),
});

/** Tolerates rounding differences between machines. */
function isSame(recorded: unknown, found: unknown): boolean {
  if (typeof recorded === 'number' && typeof found === 'number')
    return Math.abs(recorded - found) <= ROUNDING * Math.max(1e-6, Math.abs(found));
  if (Array.isArray(recorded) && Array.isArray(found))
    return recorded.length === found.length && recorded.every((one, index) => isSame(one, found[index]));
  if (typeof recorded === 'object' && typeof found === 'object' && recorded !== null && found !== null)
    return Object.entries(found).every(([key, value]) => isSame((recorded as Record<string, unknown>)[key], value));
  return recorded === found;
}

const ROUNDING = 1e-6;
