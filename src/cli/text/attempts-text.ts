import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { printable } from '../../base/printable.ts';
import type { AttemptRow, AttemptsReport, RankedAttempt } from '../../contracts/attempts.ts';
import type { Paint } from './paint.ts';
import { tableLines } from './table.ts';
import { countText, durationText, numberText } from './units.ts';
import { COLUMNS, wrapped } from './wrap.ts';

/** The ranking of several attempts. `columns` is undefined without a terminal. */
export function attemptsText(report: AttemptsReport, paint: Paint, columns: number | undefined): string {
  const { group, winner, why, ties, not_ranked, notes } = report;
  const mark = winner ? paint('good', '✓') : paint('bad', '✗');
  const head = winner ? `attempt ${winner.attempt} wins` : 'no attempt wins';
  const width = columns ?? COLUMNS;
  const lines = [
    '',
    ...rowLines(report.attempts, paint, columns),
    ...not_ranked.flatMap(({ attempt, message }) =>
      paragraph(`–  attempt ${attempt} is not ranked: ${printable(message)}`, width, '   '),
    ),
    ...ties.flatMap(tie => paragraph(`=  Attempts ${listText(tie)} differ only in their number.`, width, '   ')),
    '',
    `${mark} ${paint('strong', head)}`,
    ...paragraph(`  ${printable(why)}`, width, '  '),
    ...notes.flatMap(note => paragraph(`  ${printable(note)}`, width, '  ')),
    paint('faint', `  proctor show ${group}`),
    ...(winner ? [paint('faint', `  proctor apply ${group}`)] : []),
  ];
  return `${lines.join('\n')}\n`;
}

/** The report for `--json`, with the folder of every ranked attempt. */
export function attemptsJson(report: AttemptsReport, folders: ReadonlyMap<number, string>): object {
  const attempts = report.attempts.map(row => {
    const folder = folders.get(row.attempt);
    return { ...row, folder: folder === undefined ? null : path.relative(process.cwd(), folder) };
  });
  return { ...report, attempts };
}

/** What an attempt achieved, on one line. */
export function attemptInBrief(row: AttemptRow): string {
  const { termination, checks, diff } = row;
  return [
    termination.replaceAll('_', ' '),
    ...(checks.total > 0 ? [`${checks.passed}/${checks.total} ${checks.total === 1 ? 'check' : 'checks'}`] : []),
    ...(diff ? [diffText(diff)] : []),
  ].join(', ');
}

const HEAD = ['rank', 'attempt', 'run', 'checks', 'tests', 'diff', 'cost', 'time', 'flags'];

/** The widest form that fits: a table, with short run ids, with flags below each row, or a paragraph per attempt. */
function rowLines(rows: readonly RankedAttempt[], paint: Paint, columns: number | undefined): string[] {
  if (rows.length === 0) return [];
  const tableWith = (idOf: (id: string) => string): string[] => {
    const [head = '', ...body] = tableLines([HEAD, ...rows.map(row => cellsOf(row, idOf))]);
    return [paint('faint', head), ...body.map((line, index) => colored(line, rows[index] as RankedAttempt, paint))];
  };
  const fits = (lines: readonly string[]): boolean =>
    columns === undefined || lines.every(line => stripVTControlCharacters(line).length <= columns);
  const long = tableWith(printable);
  if (fits(long)) return long;
  const short = tableWith(shortId);
  if (fits(short)) return short;
  const flagged = withFlagsBelow(rows, paint);
  return fits(flagged) ? flagged : rows.flatMap(row => stacked(row, paint, columns ?? COLUMNS));
}

function withFlagsBelow(rows: readonly RankedAttempt[], paint: Paint): string[] {
  const cells = rows.map(row => cellsOf(row, shortId).slice(0, -1));
  const [head = '', ...body] = tableLines([HEAD.slice(0, -1), ...cells]);
  const lines = rows.flatMap((row, index) => {
    const flags = flagsText(row);
    return [colored(body[index] ?? '', row, paint), ...(flags === '' ? [] : [paint('faint', `      ${flags}`)])];
  });
  return [paint('faint', head), ...lines];
}

function cellsOf(row: RankedAttempt, idOf: (id: string) => string): string[] {
  return [String(row.rank), String(row.attempt), idOf(row.run_id), ...measuresOf(row), flagsText(row)];
}

function measuresOf({ checks, tests, diff, cost_usd, duration_ms }: AttemptRow): string[] {
  return [
    checks.total === 0 ? '–' : `${checks.passed}/${checks.total}`,
    tests ? `${tests.passed}/${tests.passed + tests.failed}` : '–',
    diff ? diffText(diff) : '–',
    cost_usd === null ? '–' : `$${cost_usd.toFixed(4)}`,
    duration_ms === null ? '–' : durationText(duration_ms),
  ];
}

function diffText({ added, removed }: NonNullable<AttemptRow['diff']>): string {
  return `+${numberText(added)} −${numberText(removed)}`;
}

/** The random part of an id. Every command accepts it in place of the whole id. */
function shortId(id: string): string {
  return printable(id.split('_').at(-1) ?? id);
}

function flagsText({ termination, violations, flags }: AttemptRow): string {
  const all = violations.hard + violations.soft;
  return [
    ...(termination === 'completed' ? [] : [termination.replaceAll('_', ' ')]),
    ...(all > 0 ? [countText(all, 'violation')] : []),
    ...flags.map(flag => flag.replaceAll('_', ' ')),
  ].join(', ');
}

/** For terminals that are narrower than the table. */
function stacked(row: RankedAttempt, paint: Paint, columns: number): string[] {
  const [checks = '', tests = '', diff = '', cost = '', time = ''] = measuresOf(row);
  const flags = flagsText(row);
  const measures = [`checks ${checks}`, `tests ${tests}`, `diff ${diff}`, `cost ${cost}`, `time ${time}`];
  const parts = [`run ${shortId(row.run_id)}`, ...measures, ...(flags === '' ? [] : [flags])];
  // A measure stays on one line.
  const text = parts.map(part => part.replaceAll(' ', FIXED_SPACE)).join(', ');
  const head = `${row.rank}  ${paint('strong', `attempt ${row.attempt}`)}`;
  return [head, ...wrapped(text, columns - 3).map(line => `   ${line.replaceAll(FIXED_SPACE, ' ')}`)];
}

const FIXED_SPACE = '\u00a0';

function colored(line: string, { checks, termination }: RankedAttempt, paint: Paint): string {
  const isGood = termination === 'completed' && checks.passed === checks.total;
  return isGood ? line : paint('faint', line);
}

/** Wraps text. Every line except the first starts with `indent`. */
function paragraph(text: string, columns: number, indent: string): string[] {
  const start = /^ */.exec(text)?.[0] ?? '';
  const [first = '', ...rest] = wrapped(text.trimStart(), Math.max(20, columns - indent.length));
  return [`${start}${first}`, ...rest.map(line => `${indent}${line}`)];
}

function listText(numbers: readonly number[]): string {
  return `${numbers.slice(0, -1).join(', ')} and ${numbers.at(-1)}`;
}
