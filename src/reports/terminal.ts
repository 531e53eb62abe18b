import { clip } from '../base/clip.ts';
import { printable } from '../base/printable.ts';
import type { ComparedCase, Comparison } from '../contracts/comparison/index.ts';
import {
  change,
  concernOf,
  counted,
  failuresOf,
  figure,
  probability,
  type Report,
  troublesOf,
  VERDICTS,
} from './report.ts';

export type Paint = (style: 'good' | 'bad' | 'note' | 'faint' | 'strong', text: string) => string;

const plain: Paint = (_style, text) => text;

/** What a person in a terminal reads: the verdict first, then what needs a look, then the sums. */
export function terminalReport(paint: Paint): Report {
  return {
    file: 'report.txt',
    *ofComparison(comparison) {
      yield* headline(comparison, paint);
      const concerns = ORDER.flatMap(concern => comparison.cases.filter(one => concernOf(one) === concern));
      if (concerns.length > 0) yield '\n';
      for (const one of concerns.slice(0, CASES_MAX)) yield* caseLines(one, paint);
      yield* more(concerns.length, paint);
      yield* improvements(comparison, paint);
      yield '\n';
      yield* sums(comparison);
    },
    *ofRun({ run, evaluation: { summary, cases } }) {
      const { total, passed, failed, errors, unjudged } = summary;
      const isGood = passed === total;
      const mark = paint(isGood ? 'good' : 'bad', isGood ? '✓' : '✗');
      const judged = unjudged > 0 ? `, ${unjudged} with nothing that could be judged` : '';
      yield `${mark} ${paint('strong', `${passed} of ${counted(total, 'case')} passed`)}: ${failed} failed, ${errors} without a verdict${judged}\n`;
      yield `  ${run.version} ${said(run.run_id)}, target ${said(run.base_url)}\n`;
      const troubled = cases.filter(({ verdict }) => verdict !== 'pass');
      if (troubled.length > 0) yield '\n';
      for (const one of troubled.slice(0, CASES_MAX)) {
        yield `  ${paint('bad', one.verdict.padEnd(9))}  ${paint('strong', said(one.case_id))}\n`;
        for (const { name, message } of troublesOf(one).slice(0, LINES_MAX))
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

const STYLES = { no_regression: 'good', regression: 'bad', not_enough_evidence: 'note' } as const;
const MARKS = { no_regression: '✓', regression: '✗', not_enough_evidence: '?' } as const;

function* headline({ verdict, reason, comparability, gate }: Comparison, paint: Paint): Generator<string> {
  const style = STYLES[verdict];
  yield `${paint(style, `${MARKS[verdict]} ${VERDICTS[verdict]}`)}  ${said(reason)}\n`;
  for (const { message } of gate.breaches) yield `  ${paint('bad', 'gate')}  ${said(message)}\n`;
  for (const { field, baseline, new: now } of comparability.fields) {
    yield `  ${paint('note', 'drift')}  ${said(field)}: ${said(short(baseline))} → ${said(short(now))}\n`;
  }
}

function* caseLines(one: ComparedCase, paint: Paint): Generator<string> {
  const concern = concernOf(one) ?? one.change;
  const title = one.title === null ? '' : `  ${paint('faint', said(one.title))}`;
  const style = concern === 'regressed' || concern === 'failing' ? 'bad' : 'note';
  yield `  ${paint(style, concern.padEnd(9))}  ${paint('strong', said(one.case_id))}${title}\n`;
  if (one.side_missing)
    yield `${INDENT}missing on ${one.side_missing === 'both' ? 'both sides' : `the ${one.side_missing} side`}\n`;
  for (const { name, message } of failuresOf(one).slice(0, LINES_MAX))
    yield `${INDENT}${said(`${name}: ${message}`)}\n`;
  if (one.divergence) {
    const { kind, says, cites, confidence } = one.divergence;
    yield `${INDENT}${kind.replace('_', ' ')}: ${said(says)}\n`;
    const where = cites.length > 0 ? ` at ${said(cites.join(', '))}` : '';
    yield `${INDENT}${paint('faint', `confidence ${confidence}${where}`)}\n`;
  }
}

function* more(count: number, paint: Paint): Generator<string> {
  if (count > CASES_MAX) yield `  ${paint('faint', `and ${count - CASES_MAX} more that need a look`)}\n`;
}

/** Good news in one line. */
function* improvements({ cases }: Comparison, paint: Paint): Generator<string> {
  const names = cases.filter(({ change }) => change === 'improved').map(({ case_id }) => said(case_id));
  if (names.length === 0) return;
  const rest = names.length > NAMES_MAX ? ` and ${names.length - NAMES_MAX} more` : '';
  yield `  ${paint('good', 'improved')}   ${names.slice(0, NAMES_MAX).join(', ')}${rest}\n`;
}

const NAMES_MAX = 10;

function* sums({ summary, statistics, sides }: Comparison): Generator<string> {
  const { cases, regressed, improved, same, flaky, missing } = summary;
  yield `  ${counted(cases, 'case')}: ${regressed} regressed, ${improved} improved, ${same} same, ${flaky} flaky, ${missing} missing\n`;
  yield `  ${counted(sides.baseline.trials, 'trial')} of the baseline, ${sides.new.trials} of the new side\n`;
  const { mcnemar, metrics, more_trials } = statistics;
  const hint = more_trials === null ? '' : `; about ${more_trials} more would tell it from chance`;
  yield `  ${mcnemar.broke} broke, ${mcnemar.mended} mended, p = ${probability(mcnemar.p_value)} (exact McNemar)${hint}\n`;
  for (const { name, baseline, new: now, difference, pairs, resampled } of metrics) {
    const drawn = resampled === undefined ? '' : `, drawn from ${resampled} at a time`;
    yield `  ${name.padEnd(10)}  mean ${figure(baseline.mean)} → ${figure(now.mean)}, p95 ${figure(baseline.p95)} → ${figure(now.p95)}; ` +
      `difference ${change(difference.mean)}, 95 % from ${change(difference.low)} to ${change(difference.high)} (${counted(pairs, 'pair')}${drawn})\n`;
  }
}

function said(text: string): string {
  const { text: head, truncated } = clip(text, SAID_BYTES_MAX);
  return `${printable(head)}${truncated ? '…' : ''}`;
}

/** A hash is told apart by its beginning. */
function short(value: string | null): string {
  return value === null ? 'not known' : value.replace(/sha256:([a-f0-9]{12})[a-f0-9]{52}/g, '$1…');
}
