import { MISSING_MAX_RATIO } from '../gate/index.ts';
import { must, rulesFor } from '../rule.ts';
import { decideComparison, VERDICT_OF } from './decision.ts';
import type { Comparison, Decision } from './shape.ts';

/** Older versions called two sides different below this p. */
const SIGNIFICANT = 0.05;

export const EXIT_CODES = { no_regression: 0, regression: 1, not_enough_evidence: 3 } as const;

const rule = rulesFor<Comparison>();

export const CM3 = rule({
  id: 'CM3',
  title: 'Verdict Follows',
  why: 'Readers can trust a gate without trusting its author: its verdict follows from what it shows.',
  asks: [
    'verdict is no_regression with exit_code 0, regression with 1, or not_enough_evidence with 3; reason is not blank',
    'verdict is regression where a limit on the new side is not met, whatever else was found',
    'else it is not_enough_evidence where the sides are not comparable, or one of them has no trial',
    'else it is regression where there is a breach',
    'else it is the verdict that the cause of decision leads to, and not no_regression where a metric of decision is not settled',
    'without decision, which older comparisons lack: regression where mode is strict and a case has regressed, or mode is statistical, more broke than mended, and p_value is below 0.05',
    'it is not no_regression where a greater share of the cases is missing than missing_max_ratio, or 0.05, allows',
  ],
  fields: ['verdict', 'reason', 'exit_code'],
  reads: ['gate', 'comparability', 'sides', 'summary', 'statistics', 'decision'],
  *check({ verdict, exit_code, gate, comparability, sides, summary, statistics, decision }) {
    if (exit_code !== EXIT_CODES[verdict]) yield must('exit_code', `must be ${EXIT_CODES[verdict]} with this verdict`);
    const isHopeless =
      comparability.state === 'not_comparable' || sides.baseline.trials === 0 || sides.new.trials === 0;
    const found = foundIn(decision) ?? (isWorse({ gate, summary, statistics }) ? 'regression' : undefined);
    const isBroken = gate.checks?.some(({ is_met }) => !is_met) === true;
    const isRegression = isBroken || (!isHopeless && (gate.breaches.length > 0 || found === 'regression'));
    const isThin = summary.missing > (gate.missing_max_ratio ?? MISSING_MAX_RATIO) * summary.cases;
    if (isHopeless && !isBroken && verdict !== 'not_enough_evidence') {
      yield must('verdict', 'must be "not_enough_evidence" where the sides cannot be compared');
    } else if (isRegression !== (verdict === 'regression')) {
      yield must('verdict', `must ${isRegression ? '' : 'not '}be "regression" by what the gate found`);
    } else if (found === 'not_enough_evidence' && verdict === 'no_regression') {
      yield must('verdict', 'must be "not_enough_evidence" by what the gate found');
    } else if (!decision && isThin && verdict === 'no_regression') {
      yield must('verdict', 'must not be "no_regression" where too many cases are missing');
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

/** How older versions decided. */
function isWorse({ gate, summary, statistics }: Pick<Comparison, 'gate' | 'summary' | 'statistics'>): boolean {
  if (gate.mode === 'strict') return summary.regressed > 0;
  const { broke = 0, mended = 0, p_value = 1 } = statistics.mcnemar ?? {};
  return broke > mended && p_value < SIGNIFICANT;
}

export const CM11 = rule({
  id: 'CM11',
  title: 'Decision Follows From Trials',
  why: 'The verifier decides again from the same trials, so a changed number cannot carry a verdict.',
  asks: [
    'decision, if present, has cause, cases, drop, high, p, detectable, rates, metrics, broken, suspects, removed and weakened',
    'each is what the gate computes from the trials of the cases, from changed and from its own settings',
    'drop, high, p and detectable are null where no case has trials on both sides, or mode is strict',
    'mode is not statistical where decision is present',
    'decision is present where mode is balanced or proven, and where statistics has no mcnemar',
    'more_trials is what the gate computes, and reason begins with its sentence where nothing else decides',
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
      // Older comparisons have their own statistics. Without either, nothing carries the verdict.
      if (mode === 'balanced' || mode === 'proven' || !statistics.mcnemar) yield must('decision', 'is missing');
      return;
    }
    if (mode === 'statistical') {
      yield must('gate.mode', 'must be balanced, proven or strict');
      return;
    }
    const again = decideComparison({ ...gate, mode }, { cases, sides });
    for (const key of Object.keys(again.decision) as (keyof Decision)[]) {
      if (!isSame(decision[key], again.decision[key])) yield must(`decision.${key}`, 'is not what the trials show');
    }
    if (statistics.more_trials !== again.moreTrials)
      yield must('statistics.more_trials', 'is not what the trials show');
    const isAlone = comparability.state !== 'not_comparable' && sides.baseline.trials > 0 && gate.breaches.length === 0;
    if (isAlone && !gate.checks?.length && VERDICT_OF[decision.cause] === verdict && !reason.startsWith(again.reason))
      yield must('reason', 'is not the sentence of this decision');
  },
  breach: ({ decision, ...rest }) => ({ ...rest, decision: decision && { ...decision, cases: decision.cases + 1 } }),
});

/** Other machines may round the last digits of a probability differently. */
function isSame(told: unknown, found: unknown): boolean {
  if (typeof told === 'number' && typeof found === 'number')
    return Math.abs(told - found) <= ROUNDING * Math.max(1e-6, Math.abs(found));
  if (Array.isArray(told) && Array.isArray(found))
    return told.length === found.length && told.every((one, index) => isSame(one, found[index]));
  if (typeof told === 'object' && typeof found === 'object' && told !== null && found !== null)
    return Object.entries(found).every(([key, value]) => isSame((told as Record<string, unknown>)[key], value));
  return told === found;
}

const ROUNDING = 1e-6;
