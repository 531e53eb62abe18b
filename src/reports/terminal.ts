import { counted } from '../base/counted.ts';
import { repairedText } from '../contracts/artifacts/repairs.ts';
import { clip } from '../base/clip.ts';
import { printable } from '../base/printable.ts';
import { type ComparedCase, type Comparison, isWeakened } from '../contracts/comparison/index.ts';
import { type CauseGroup, causeGroups } from './cause-groups.ts';
import { changedCases, changeLines } from './changes.ts';
import { driftGroups } from './drift.ts';
import { explanationOf } from './explanation.ts';
import {
  breachMessages,
  causesNote,
  change,
  concernOf,
  failuresOf,
  measure,
  intervalOf,
  METRICS,
  NO_INTERVAL,
  runNote,
  type Report,
  trialsNote,
  problemsOf,
  unmetMessages,
  SIDE_NAMES,
  verdictWord,
} from './report.ts';
import { repairedSidesText } from './repaired.ts';
import { byFinding, type FlaggedCases, flaggedCases, isRepeated, markedTally } from './tally.ts';

export type PaintText = (style: 'good' | 'bad' | 'note' | 'faint' | 'strong', text: string) => string;

const plain: PaintText = (_style, text) => text;

/**
 * The report for terminals: the cases that need attention, grouped by cause, the totals, and the verdict last. A command
 * that prints the verdicts of several suites itself leaves it out here.
 */
export function terminalReport(paint: PaintText, { hasVerdict = true } = {}): Report {
  return {
    file: 'report.txt',
    *ofComparison(comparison) {
      const findings = flaggedCases(comparison);
      const concerns = byFinding(
        ORDER.flatMap(concern => comparison.cases.filter(one => concernOf(one) === concern)),
        findings,
      );
      const groups = causeGroups(concerns);
      const shown = yield* groupLines(groups, findings, paint);
      yield* changes(
        changedCases(comparison).filter(one => !shown.has(one)),
        paint,
      );
      yield* improvements(comparison, paint);
      const isImproved = comparison.cases.some(({ change }) => change === 'improved');
      if (concerns.length > 0 || changedCases(comparison).length > 0 || isImproved) yield '\n';
      yield* sums(comparison);
      yield* causes(groups, paint);
      yield* grounds(comparison, paint);
      if (!hasVerdict) return;
      yield '\n';
      yield* verdict(comparison, paint);
    },
    *ofRun({ run, evaluation: { summary, cases, gate, repairs }, repetition, parts }) {
      const { total, passed, failed, errors, unjudged } = summary;
      const troubled = cases.filter(({ verdict }) => verdict !== 'pass');
      for (const one of troubled.slice(0, CASES_MAX)) {
        yield `  ${paint('bad', one.verdict.padEnd(9))}  ${paint('strong', said(one.case_id))}\n`;
        for (const { name, message } of problemsOf(one).slice(0, LINES_MAX))
          yield `${INDENT}${said(`${name}: ${message}`)}\n`;
      }
      yield* more(troubled.length, paint);
      if (troubled.length > 0) yield '\n';
      yield `  ${run.version} ${said(run.run_id)}, target ${said(run.base_url)}\n`;
      yield* repaired(repairedText(repairs));
      if (!hasVerdict) return;
      const note = runNote({ repetition, parts });
      if (note !== undefined) yield `  ${paint('note', 'note')}  ${said(note)}\n`;
      const unmet = unmetMessages(gate?.checks);
      const style = unmet.length > 0 || failed + errors > 0 ? 'bad' : unjudged === total ? 'note' : 'good';
      const mark = paint(style, RUN_MARKS[style]);
      const judged = unjudged > 0 ? `, ${unjudged} not judged` : '';
      yield `${mark} ${paint('strong', `${passed - unjudged} of ${counted(total, 'case')} passed`)}: ${failed} failed, ${errors} without a verdict${judged}\n`;
      for (const message of unmet) yield `  ${paint('bad', 'gate')}  ${said(message)}\n`;
    },
  };
}

export const terminal = terminalReport(plain);

const ORDER = ['regressed', 'failing', 'flaky', 'missing'] as const;
const CASES_MAX = 50;
const GROUPS_MAX = 12;
/** Cases shown in full for each cause. The others are only named. */
const GROUP_CASES_MAX = 3;
const LINES_MAX = 5;
const SAID_BYTES_MAX = 300;
const INDENT = ' '.repeat(13);

const RUN_MARKS = { good: '✓', bad: '✗', note: '?' } as const;
const STYLES = { no_regression: 'good', regression: 'bad', not_enough_evidence: 'note' } as const;
const MARKS = { no_regression: '✓', regression: '✗', not_enough_evidence: '?' } as const;

/** The verdict, its limits, and what to do next. It comes last, so that no list scrolls it away. */
function* verdict(comparison: Comparison, paint: PaintText): Generator<string> {
  const { verdict, reason } = comparison;
  yield `${paint(STYLES[verdict], `${MARKS[verdict]} ${verdictWord(comparison)}`)}  ${said(reason)}\n`;
  for (const message of breachMessages(comparison))
    if (!reason.includes(message)) yield `  ${paint('bad', 'gate')}  ${said(message)}\n`;
  const { decision, again } = comparison;
  // `compare` prints the command for --again itself, because it knows its arguments.
  if (decision?.cause === 'suspect' && !again) return;
  for (const { label, says } of explanationOf(comparison)?.notes ?? [])
    if (label === SETTLES) yield `  ${paint('strong', `${label}:`)} ${says}\n`;
}

const SETTLES = 'To settle it';

/** What else differs between the sides, and the evidence behind the verdict. */
function* grounds(comparison: Comparison, paint: PaintText): Generator<string> {
  for (const { of, changes, note } of driftGroups(comparison).slice(0, DRIFT_MAX)) {
    const told = changes.map(({ name, baseline, new: now }) => `${name} ${baseline} → ${now}`.trim()).join(', ');
    yield `  ${paint('note', 'drift')}  ${said(`${of}: ${told}${note === undefined ? '' : ` (${note})`}`)}\n`;
  }
  const note = causesNote(comparison);
  if (note !== undefined) yield `  ${paint('note', 'note')}  ${note}\n`;
  for (const { label, says } of explanationOf(comparison)?.notes ?? [])
    if (label !== SETTLES) yield `  ${paint('strong', `${label}:`)} ${says}\n`;
}

const DRIFT_MAX = 20;

function* caseLines(one: ComparedCase, findings: FlaggedCases, paint: PaintText): Generator<string> {
  const concern = concernOf(one) ?? one.change;
  const title = one.title === null ? '' : `  ${paint('faint', said(one.title))}`;
  const marked = isRepeated(one) ? markedTally(one, findings) : (findings.get(one.case_id)?.as ?? '');
  const tally = marked === '' ? '' : `  ${marked}`;
  const style = concern === 'regressed' || concern === 'failing' ? 'bad' : 'note';
  yield `  ${paint(style, concern.padEnd(9))}  ${paint('strong', said(one.case_id))}${tally}${title}\n`;
  if (one.side_missing) yield `${INDENT}missing from ${SIDE_NAMES[one.side_missing]}\n`;
  yield* changedLines(one);
  for (const { name, message } of failuresOf(one).slice(0, LINES_MAX))
    yield `${INDENT}${said(`${name}: ${message}`)}\n`;
  if (one.divergence) {
    const { kind, says, cites, confidence } = one.divergence;
    yield `${INDENT}${kind.replace('_', ' ')}: ${said(says)}\n`;
    const where = cites.length > 0 ? ` at ${said(cites.join(', '))}` : '';
    yield `${INDENT}${paint('faint', `confidence ${confidence}${where}`)}\n`;
  }
}

/** The first cases of each cause in full, and the names of the others. Returns the cases shown in full. */
function* groupLines(
  groups: readonly CauseGroup<ComparedCase>[],
  findings: FlaggedCases,
  paint: PaintText,
): Generator<string, ReadonlySet<ComparedCase>> {
  const shown = new Set<ComparedCase>();
  for (const { cases } of groups.slice(0, GROUPS_MAX)) {
    for (const one of cases.slice(0, GROUP_CASES_MAX)) {
      shown.add(one);
      yield* caseLines(one, findings, paint);
    }
    const rest = cases.slice(GROUP_CASES_MAX);
    if (rest.length > 0)
      yield `${INDENT}${paint('faint', `and ${counted(rest.length, 'more case')} with the same cause: ${namesOf(rest)}`)}\n`;
  }
  const hidden = groups.slice(GROUPS_MAX);
  const count = hidden.reduce((sum, { cases }) => sum + cases.length, 0);
  if (count > 0)
    yield `  ${paint('faint', `and ${counted(count, 'more case')} with ${counted(hidden.length, 'other cause')}, in the report`)}\n`;
  return shown;
}

/** The causes of the regressions, the most frequent first. A few single regressions already show theirs above. */
function* causes(groups: readonly CauseGroup<ComparedCase>[], paint: PaintText): Generator<string> {
  const regressed = groups
    .filter(({ concern }) => concern === 'regressed')
    .toSorted((a, b) => b.cases.length - a.cases.length);
  if (regressed.length <= GROUPS_MAX && regressed.every(({ cases }) => cases.length === 1)) return;
  const width = String(regressed[0]?.cases.length ?? 0).length;
  yield `\n  ${paint('strong', 'Regressions by cause')}\n`;
  for (const { text, cases } of regressed.slice(0, GROUPS_MAX))
    yield `    ${paint('bad', String(cases.length).padStart(width))}  ${said(text)}\n`;
  const rest = regressed.slice(GROUPS_MAX).reduce((sum, { cases }) => sum + cases.length, 0);
  if (rest > 0) yield `    ${paint('faint', `${String(rest).padStart(width)}  other causes, in the report`)}\n`;
}

function* more(count: number, paint: PaintText): Generator<string> {
  if (count > CASES_MAX) yield `  ${paint('faint', `and ${counted(count - CASES_MAX, 'more case')} to review`)}\n`;
}

/** Changed cases that need attention for no other reason. */
function* changes(cases: readonly ComparedCase[], paint: PaintText): Generator<string> {
  for (const one of cases.slice(0, CASES_MAX)) {
    const word = isWeakened(one.changed) ? 'weakened' : 'changed';
    yield `  ${paint('note', word.padEnd(9))}  ${paint('strong', said(one.case_id))}\n`;
    yield* changedLines(one);
  }
  if (cases.length > CASES_MAX)
    yield `  ${paint('faint', `and ${counted(cases.length - CASES_MAX, 'more case')} that changed`)}\n`;
}

function* changedLines(one: ComparedCase): Generator<string> {
  const lines = changeLines(one);
  for (const line of lines.slice(0, LINES_MAX)) yield `${INDENT}${said(line)}\n`;
  if (lines.length > LINES_MAX) yield `${INDENT}and ${counted(lines.length - LINES_MAX, 'more line')} in the report\n`;
}

/** Improved cases, in one line. */
function* improvements({ cases }: Comparison, paint: PaintText): Generator<string> {
  const improved = cases.filter(({ change }) => change === 'improved');
  if (improved.length > 0) yield `  ${paint('good', 'improved')}   ${namesOf(improved)}\n`;
}

function namesOf(cases: readonly ComparedCase[]): string {
  const rest = cases.length > NAMES_MAX ? ` and ${cases.length - NAMES_MAX} more` : '';
  const names = cases.slice(0, NAMES_MAX).map(({ case_id }) => said(case_id));
  return `${names.join(', ')}${rest}`;
}

const NAMES_MAX = 10;

function* sums(comparison: Comparison): Generator<string> {
  const { summary, statistics } = comparison;
  const { cases, regressed, improved, same, flaky, missing } = summary;
  yield `  ${counted(cases, 'case')}: ${regressed} regressed, ${improved} improved, ${same} same, ${flaky} flaky, ${missing} missing\n`;
  yield `  ${trialsNote(comparison)}\n`;
  const rates = explanationOf(comparison)?.ratesNote ?? null;
  if (rates !== null) yield `  pass rate: ${rates}\n`;
  for (const metric of statistics.metrics) {
    const { name, baseline, new: now, difference, pairs, resampled } = metric;
    const interval = intervalOf(metric);
    const range = interval === undefined ? ` (${NO_INTERVAL})` : `, 95 % from ${interval}`;
    const drawn = resampled === undefined ? '' : `, resampled ${resampled} at a time`;
    const step = (key: 'mean' | 'p95'): string => `${key} ${measure(name, baseline[key])} → ${measure(name, now[key])}`;
    yield `  ${METRICS[name].label.padEnd(7)}  ${step('mean')}, ${step('p95')}; difference ${change(name, difference.mean)}` +
      `${range} (${counted(pairs, 'case')} measured on both sides${drawn})\n`;
  }
  yield* repaired(repairedSidesText(comparison));
}

function* repaired(text: string | undefined): Generator<string> {
  if (text !== undefined) yield `  repaired  ${text}\n`;
}

function said(text: string): string {
  const { text: head, truncated } = clip(text, SAID_BYTES_MAX);
  return `${printable(head)}${truncated ? '…' : ''}`;
}
