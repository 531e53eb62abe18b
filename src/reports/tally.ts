import { type ComparedCase, type Comparison, type Decision, standingOf } from '../contracts/comparison/index.ts';

/** A case that the gate singled out. */
export interface FlaggedCase {
  /** A broken case fails more often than chance explains; a suspect could be due to chance. */
  readonly as: 'broken' | 'suspect';
  readonly baseline: string;
  readonly new: string;
  readonly p: number;
}

export type FlaggedCases = ReadonlyMap<string, FlaggedCase>;

/** By case, broken cases first. Empty if the sides cannot be compared. */
export function flaggedCases({ decision, comparability }: Comparison): FlaggedCases {
  const findings = new Map<string, FlaggedCase>();
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

/** Passes and trials per side, such as "3/3 → 1/3"; undefined if a side has no trials. */
export function tallyText({ baseline, new: candidate }: ComparedCase, finding?: FlaggedCase): string | undefined {
  if (finding) return `${finding.baseline} → ${finding.new}`;
  const [before, now] = [countOf(baseline.trials), countOf(candidate.trials)];
  return before.trials === 0 || now.trials === 0 ? undefined : `${share(before)} → ${share(now)}`;
}

/** The same with the gate's finding: "3/3 → 1/3, suspect". */
export function markedTally(one: ComparedCase, findings: FlaggedCases): string {
  const finding = findings.get(one.case_id);
  return [tallyText(one, finding) ?? [], finding?.as ?? []].flat().join(', ');
}

/** With one trial per side, the change already shows the result. */
export function isRepeated({ baseline, new: candidate }: ComparedCase): boolean {
  return baseline.trials.length > 1 || candidate.trials.length > 1;
}

/** Leaves out trials that do not count for or against the agent. */
function countOf(trials: ComparedCase['new']['trials']): Decision['broken'][number]['new'] {
  const standings = trials.map(standingOf).filter(standing => standing !== 'missing');
  return { passes: standings.filter(standing => standing === 'passed').length, trials: standings.length };
}

function share({ passes, trials }: Decision['broken'][number]['new']): string {
  return `${passes}/${trials}`;
}

/** Cases that the gate singled out come first; the rest keep their order. */
export function byFinding<Case extends Pick<ComparedCase, 'case_id'>>(
  cases: readonly Case[],
  findings: FlaggedCases,
): Case[] {
  const rank = ({ case_id }: Case): number => {
    const as = findings.get(case_id)?.as;
    return as === 'broken' ? 0 : as === 'suspect' ? 1 : 2;
  };
  return cases.toSorted((a, b) => rank(a) - rank(b));
}
