import { MISSING_MAX_RATIO } from '../gate/index.ts';
import { must, rulesFor } from '../rule.ts';
import type { Comparison } from './shape.ts';

/** Below this, the two sides are said to differ. */
export const SIGNIFICANT = 0.05;

export const EXIT_CODES = { no_regression: 0, regression: 1, not_enough_evidence: 3 } as const;

export const CM3 = rulesFor<Comparison>()({
  id: 'CM3',
  title: 'Verdict Follows',
  why: 'A gate is trusted because nobody has to be: what it says follows from what it shows.',
  asks: [
    'verdict is no_regression with exit_code 0, regression with 1, or not_enough_evidence with 3; reason is not blank',
    'verdict is not_enough_evidence where the sides are not comparable, or one of them has no trial',
    'else it is regression where there is a breach',
    'else it is regression where mode is strict and a case has regressed',
    'else it is regression where mode is statistical, more broke than mended, and p_value is below 0.05',
    'and it is regression nowhere else',
    'it is not no_regression where a greater share of the cases is missing than missing_max_ratio, or 0.05, allows',
  ],
  fields: ['verdict', 'reason', 'exit_code'],
  reads: ['gate', 'comparability', 'sides', 'summary', 'statistics'],
  *check({ verdict, exit_code, gate, comparability, sides, summary, statistics }) {
    if (exit_code !== EXIT_CODES[verdict]) yield must('exit_code', `must be ${EXIT_CODES[verdict]} with this verdict`);
    const { broke, mended, p_value } = statistics.mcnemar;
    const isHopeless =
      comparability.state === 'not_comparable' || sides.baseline.trials === 0 || sides.new.trials === 0;
    const isWorse = gate.mode === 'strict' ? summary.regressed > 0 : broke > mended && p_value < SIGNIFICANT;
    const isRegression = !isHopeless && (gate.breaches.length > 0 || isWorse);
    const isThin = summary.missing > (gate.missing_max_ratio ?? MISSING_MAX_RATIO) * summary.cases;
    if (isHopeless && verdict !== 'not_enough_evidence') {
      yield must('verdict', 'must be "not_enough_evidence" where the sides cannot be compared');
    } else if (isRegression !== (verdict === 'regression')) {
      yield must('verdict', `must ${isRegression ? '' : 'not '}be "regression" by what the gate found`);
    } else if (isThin && verdict === 'no_regression') {
      yield must('verdict', 'must not be "no_regression" where too many cases are missing');
    }
  },
  breach: comparison => ({ ...comparison, verdict: 'no_regression', exit_code: 0 }),
});
