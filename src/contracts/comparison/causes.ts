/** Why a verdict is what it is. */
export const DECISION_CAUSES = [
  'no_pairs',
  'broken',
  'worse',
  'unreadable',
  'no_expectations',
  'all_failing',
  'removed',
  'weakened',
  'missing',
  'suspect',
  'identical',
  'safe',
  'not_worse',
  'unsettled',
] as const;
