import type { ComparedCase, Comparison } from '../contracts/comparison/index.ts';
import type { JudgedCase } from '../contracts/evaluation/index.ts';
import type { LimitCheck } from '../contracts/gate/limits/index.ts';
import { concernOf, failuresOf, type JudgedRun, problemsOf, SIDE_NAMES, verdictWord } from './report.ts';
import { type FlaggedCases, flaggedCases, tallyText } from './tally.ts';

/** One thing that a reviewer must see, at a case or at the whole case file. */
export interface ReportRemark {
  /** An error fails the pipeline. A warning does not. */
  readonly level: 'error' | 'warning';
  readonly kind: (typeof KINDS)[number];
  /** Names the same problem in every run: a case id, a limit or a metric. */
  readonly of: string;
  /** Undefined if it concerns the whole suite. */
  readonly caseId?: string;
  readonly title: string;
  readonly message: string;
}

/** Worst first. */
const KINDS = ['regressed', 'suspect', 'limit', 'failing', 'missing'] as const;

/** What a format says about a whole suite. */
export interface ReportRemarks {
  /** Errors first, then by kind. */
  readonly remarks: readonly ReportRemark[];
  readonly verdict: {
    readonly level: ReportRemark['level'] | 'notice';
    readonly title: string;
    readonly message: string;
  };
}

export function remarksOfComparison(comparison: Comparison): ReportRemarks {
  const { cases, gate, verdict, reason } = comparison;
  const flagged = flaggedCases(comparison);
  const isUnmet = gate.checks?.some(({ is_met }) => !is_met) === true;
  const remarks = [
    ...limitRemarks(gate.checks),
    ...gate.breaches.map(({ metric, message }) => limitRemark(metric, message)),
    ...cases.flatMap(one => comparedRemark(one, flagged, isUnmet) ?? []),
  ];
  const level = ({ no_regression: 'notice', regression: 'error', not_enough_evidence: 'warning' } as const)[verdict];
  return { remarks: sorted(remarks), verdict: { level, title: verdictWord(comparison), message: reason } };
}

export function remarksOfRun({ evaluation: { cases, summary, gate } }: JudgedRun): ReportRemarks {
  const limits = limitRemarks(gate?.checks);
  const isUnmet = limits.length > 0;
  const remarks = [...limits, ...cases.flatMap(one => judgedRemark(one, isUnmet) ?? [])];
  const { total, passed, failed, errors, unjudged } = summary;
  const title = isUnmet ? 'Limit not met' : 'No comparison';
  const message = `${passed} of ${total} cases passed, ${failed} failed, ${errors} without a verdict, ${unjudged} with nothing to judge.`;
  return { remarks: sorted(remarks), verdict: { level: isUnmet ? 'error' : 'notice', title, message } };
}

/** A failing case is an error only if it broke beyond chance, or if a limit is not met. */
function comparedRemark(one: ComparedCase, flagged: FlaggedCases, isUnmet: boolean): ReportRemark | undefined {
  const { case_id, side_missing, divergence } = one;
  const finding = flagged.get(case_id);
  const concern = concernOf(one);
  if (concern === undefined || (concern === 'flaky' && !finding)) return undefined;
  const kind = finding?.as === 'suspect' ? 'suspect' : finding || concern === 'flaky' ? 'regressed' : concern;
  if (kind === 'missing') {
    return caseRemark('warning', kind, case_id, [`The case is missing from ${SIDE_NAMES[side_missing ?? 'both']}.`]);
  }
  const isFailing = concern !== 'flaky';
  const level = finding?.as === 'broken' || (isFailing && isUnmet) ? 'error' : 'warning';
  const cause = divergence && kind !== 'failing' ? [`${divergence.kind}: ${divergence.says}`] : [];
  return caseRemark(level, kind, case_id, [...failureLines(failuresOf(one)), ...cause], tallyText(one, finding));
}

function judgedRemark(one: JudgedCase, isUnmet: boolean): ReportRemark | undefined {
  const { case_id, verdict, error_class } = one;
  if (verdict === 'pass') return undefined;
  const kind = error_class === 'missing' ? 'missing' : 'failing';
  const level = isUnmet && kind === 'failing' ? 'error' : 'warning';
  return caseRemark(level, kind, case_id, failureLines(problemsOf(one)));
}

function caseRemark(
  level: ReportRemark['level'],
  kind: ReportRemark['kind'],
  caseId: string,
  lines: readonly string[],
  tally?: string,
): ReportRemark {
  const title = `${caseId}: ${TITLES[kind]}${tally === undefined ? '' : ` (${tally})`}`;
  return { level, kind, of: caseId, caseId, title, message: lines.join('\n') || `${TITLES[kind]}.` };
}

const TITLES = {
  regressed: 'regressed',
  suspect: 'suspect, could be chance',
  limit: 'limit not met',
  failing: 'failing',
  missing: 'missing',
} as const;

function failureLines(failures: ReturnType<typeof failuresOf>): string[] {
  const shown = failures.slice(0, FAILURES_MAX).map(({ name, message }) => `${name}: ${message}`);
  return failures.length > FAILURES_MAX ? [...shown, `and ${failures.length - FAILURES_MAX} more`] : shown;
}

const FAILURES_MAX = 5;

function limitRemarks(checks: readonly LimitCheck[] = []): ReportRemark[] {
  return checks
    .filter(({ is_met }) => !is_met)
    .map(({ of, name, limit, message }) => limitRemark(name === null ? limit : `${of} ${name}: ${limit}`, message));
}

function limitRemark(of: string, message: string): ReportRemark {
  return { level: 'error', kind: 'limit', of, title: `${of}: ${TITLES.limit}`, message };
}

function sorted(remarks: readonly ReportRemark[]): ReportRemark[] {
  const rank = ({ level, kind }: ReportRemark): number => (level === 'error' ? 0 : KINDS.length) + KINDS.indexOf(kind);
  return remarks.toSorted((a, b) => rank(a) - rank(b));
}
