import { REPAIRED_WHY, type RepairSums, repairsText, sumOfRepairs } from '../contracts/artifacts/repairs.ts';
import type { Comparison } from '../contracts/comparison/index.ts';

/** The repairs of both sides in a sentence; undefined if there are none. */
export function repairedSidesText(comparison: Comparison): string | undefined {
  const { baseline, new: candidate } = repairedSides(comparison);
  if (!baseline && !candidate) return undefined;
  return `baseline ${listed(baseline)}; candidate ${listed(candidate)}: ${REPAIRED_WHY}`;
}

function listed(repairs: RepairSums | undefined): string {
  return repairs ? repairsText(repairs) : 'none';
}

/** The repairs of each side, summed over all trials. */
export function repairedSides({ cases }: Comparison): Record<'baseline' | 'new', RepairSums | undefined> {
  const sumOf = (side: 'baseline' | 'new'): RepairSums | undefined => sumOfRepairs(repairsOfSide(cases, side));
  return { baseline: sumOf('baseline'), new: sumOf('new') };
}

function* repairsOfSide(cases: Comparison['cases'], side: 'baseline' | 'new'): Generator<RepairSums | undefined> {
  for (const one of cases) {
    for (const { repairs } of one[side].trials) if (repairs) yield repairs;
  }
}
