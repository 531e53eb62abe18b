import { counted } from '../base/counted.ts';
import { repairedText } from '../contracts/artifacts/repairs.ts';
import { clip } from '../base/clip.ts';
import { printable } from '../base/printable.ts';
import { type ComparedCase, type Comparison, isWeakened } from '../contracts/comparison/index.ts';
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
  repetitionNote,
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

/** The report for terminals: the verdict, the cases that need attention, then the totals. */
export function terminalReport(paint: PaintText): Report {
  return {
    file: 'report.txt',
    *ofComparison(comparison) {
      yield* headline(comparison, paint);
      const findings = flaggedCases(comparison);
      const concerns = byFinding(
        ORDER.flatMap(concern => comparison.cases.filter(one => concernOf(one) === concern)),
        findings,
      );
      if (concerns.length > 0) yield '\n';
      for (const one of concerns.slice(0, CASES_MAX)) yield* caseLines(one, findings, paint);
      yield* more(concerns.length, paint);
      const shown = new Set(concerns.slice(0, CASES_MAX));
      yield* changes(
        changedCases(comparison).filter(one => !shown.has(one)),
        paint,
      );
      yield* improvements(comparison, paint);
      yield '\n';
      yield* sums(comparison);
    },
    *ofRun({ run, evaluation: { summary, cases, gate, repairs }, repetition }) {
      const { total, passed, failed, errors, unjudged } = summary;
      const unmet = unmetMessages(gate?.checks);
      const style = unmet.length > 0 || failed + errors > 0 ? 'bad' : unjudged === total ? 'note' : 'good';
      const mark = paint(style, RUN_MARKS[style]);
      const judged = unjudged > 0 ? `, ${unjudged} not judged` : '';
      yield `${mark} ${paint('strong', `${passed - unjudged} of ${counted(total, 'case')} passed`)}: ${failed} failed, ${errors} without a verdict${judged}\n`;
      for (const message of unmet) yield `  ${paint('bad', 'gate')}  ${said(message)}\n`;
      yield `  ${run.version} ${said(run.run_id)}, target ${said(run.base_url)}\n`;
      yield* repaired(repairedText(repairs));
      const note = repetitionNote(repetition);
      if (note !== undefined) yield `  ${paint('note', 'note')}  ${said(note)}\n`;
      const troubled = cases.filter(({ verdict }) => verdict !== 'pass');
      if (troubled.length > 0) yield '\n';
      for (const one of troubled.slice(0, CASES_MAX)) {
        yield `  ${paint('bad', one.verdict.padEnd(9))}  ${paint('strong', said(one.case_id))}\n`;
        for (const { name, message } of problemsOf(one).slice(0, LINES_MAX))
          yield `${INDENT}${said(`${name}: ${message}`)}\n`;
      }
      yield* more(troubled.length, paint);
    },
  };
}

export const terminal = terminalReport(plain);

const ORDER = ['regressed', 'failing', 'flaky', 'missing'] as const;
const CASES_MAX = 50;
const LINES_MAX = 5;
const SAID_BYTES_MAX = 300;
const INDENT = ' '.repeat(13);

const RUN_MARKS = { good: '✓', bad: '✗', note: '?' } as const;
const STYLES = { no_regression: 'good', regression: 'bad', not_enough_evidence: 'note' } as const;
const MARKS = { no_regression: '✓', regression: '✗', not_enough_evidence: '?' } as const;

function* headline(comparison: Comparison, paint: PaintText): Generator<string> {
  const { verdict, reason } = comparison;
  const style = STYLES[verdict];
  yield `${paint(style, `${MARKS[verdict]} ${verdictWord(comparison)}`)}  ${said(reason)}\n`;
  yield* grounds(comparison, paint);
  for (const message of breachMessages(comparison))
    if (!reason.includes(message)) yield `  ${paint('bad', 'gate')}  ${said(message)}\n`;
  for (const { of, changes, note } of driftGroups(comparison).slice(0, DRIFT_MAX)) {
    const told = changes.map(({ name, baseline, new: now }) => `${name} ${baseline} → ${now}`.trim()).join(', ');
    yield `  ${paint('note', 'drift')}  ${said(`${of}: ${told}${note === undefined ? '' : ` (${note})`}`)}\n`;
  }
  const note = causesNote(comparison);
  if (note !== undefined) yield `  ${paint('note', 'note')}  ${note}\n`;
}

const DRIFT_MAX = 20;

/** The evidence behind the verdict. `compare` prints the command for --again itself, because it knows its arguments. */
function* grounds(comparison: Comparison, paint: PaintText): Generator<string> {
  const { decision, again } = comparison;
  const isCommand = decision?.cause === 'suspect' && !again;
  for (const { label, says } of explanationOf(comparison)?.notes ?? []) {
    if (label === 'To settle it' && isCommand) continue;
    yield `  ${paint('strong', `${label}:`)} ${says}\n`;
  }
}

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
  const names = cases.filter(({ change }) => change === 'improved').map(({ case_id }) => said(case_id));
  if (names.length === 0) return;
  const rest = names.length > NAMES_MAX ? ` and ${names.length - NAMES_MAX} more` : '';
  yield `  ${paint('good', 'improved')}   ${names.slice(0, NAMES_MAX).join(', ')}${rest}\n`;
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
