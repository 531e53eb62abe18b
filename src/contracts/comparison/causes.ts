/** The verdict for each cause. */
export const VERDICT_OF = {
  no_pairs: 'not_enough_evidence',
  broken: 'regression',
  worse: 'regression',
  unreadable: 'not_enough_evidence',
  no_expectations: 'not_enough_evidence',
  all_failing: 'not_enough_evidence',
  removed: 'not_enough_evidence',
  weakened: 'not_enough_evidence',
  missing: 'not_enough_evidence',
  suspect: 'not_enough_evidence',
  identical: 'no_regression',
  safe: 'no_regression',
  not_worse: 'no_regression',
  unsettled: 'not_enough_evidence',
} as const;

export const DECISION_CAUSES = Object.keys(VERDICT_OF) as readonly (keyof typeof VERDICT_OF)[];
