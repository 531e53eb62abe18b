import type { Comparison } from '../contracts/comparison/index.ts';
import { explanationOf } from './explanation.ts';
import type { PageGrounds } from './page-data.ts';
import { flaggedCases } from './tally.ts';

/** The evidence that the overview shows below the verdict. */
export function pageGrounds(comparison: Comparison): PageGrounds | null {
  const explanation = explanationOf(comparison);
  if (!explanation) return null;
  const { rates, ratesNote, notes } = explanation;
  const findings = flaggedCases(comparison);
  const listed = [...findings]
    .slice(0, LISTED_MAX)
    .map(([case_id, { as, baseline, new: now, p }]) => ({ case_id, as, baseline, new: now, p }));
  return { rates, rates_note: ratesNote, notes, findings: listed, found: findings.size };
}

/** The limit for this list. The case list marks every finding. */
const LISTED_MAX = 50;
