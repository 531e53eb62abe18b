import { type ComparedCase, type Comparison, type Decision, standingOf } from '../contracts/comparison/index.ts';

/** A case that the gate has singled out. */
export interface Finding {
  /** Broken is beyond chance; a suspect could still be chance. */
  readonly as: 'broken' | 'suspect';
  readonly baseline: string;
  readonly new: string;
  readonly p: number;
}

export type Findings = ReadonlyMap<string, Finding>;

/** By case, broken ones first. Sides that cannot be compared have none. */
export function findingsOf({ decision, comparability }: Comparison): Findings {
  const findings = new Map<string, Finding>();
  if (!decision || comparability.state === 'not_comparable') return findings;
  for (const [as, found] of [
    ['broken', decision.broken],
    ['suspect', decision.suspects],
  ] as const) {
    for (const { case_id, baseline, new: candidate, p } of found)
      findings.set(case_id, { as, baseline: share(baseline), new: share(candidate), p });
  }
  return findings;
}

/** Passes and trials per side, such as "3/3 → 1/3"; undefined where a side has none. */
export function tallyOf({ baseline, new: candidate }: ComparedCase, finding?: Finding): string | undefined {
  if (finding) return `${finding.baseline} → ${finding.new}`;
  const [before, now] = [countOf(baseline.trials), countOf(candidate.trials)];
  return before.trials === 0 || now.trials === 0 ? undefined : `${share(before)} → ${share(now)}`;
}

/** The same with what the gate has found: "3/3 → 1/3, suspect". */
export function markedTally(one: ComparedCase, findings: Findings): string {
  const finding = findings.get(one.case_id);
  return [tallyOf(one, finding) ?? [], finding?.as ?? []].flat().join(', ');
}

/** One trial a side has its count in the change of the case. */
export function isRepeated({ baseline, new: candidate }: ComparedCase): boolean {
  return baseline.trials.length > 1 || candidate.trials.length > 1;
}

/** Trials that say nothing of the agent do not count. */
function countOf(trials: ComparedCase['new']['trials']): Decision['broken'][number]['new'] {
  const standings = trials.map(standingOf).filter(standing => standing !== 'missing');
  return { passes: standings.filter(standing => standing === 'passed').length, trials: standings.length };
}

function share({ passes, trials }: Decision['broken'][number]['new']): string {
  return `${passes}/${trials}`;
}

/** Singled out first, else in their order. */
export function byFinding<Case extends Pick<ComparedCase, 'case_id'>>(
  cases: readonly Case[],
  findings: Findings,
): Case[] {
  const rank = ({ case_id }: Case): number => {
    const as = findings.get(case_id)?.as;
    return as === 'broken' ? 0 : as === 'suspect' ? 1 : 2;
  };
  return cases.toSorted((a, b) => rank(a) - rank(b));
}
