import { readJson } from '../../base/json.ts';
import { isObject } from '../../contracts/kind.ts';
import { type CsvCell, rowsOf } from '../../run/suite/csv.ts';
import { METRIC_NAMES, type ResultRow, ResultFault } from '../../run/results/row.ts';

/** The rows of a CSV file. Its header must name at least case and pass. */
export function* csvRows(text: string): Generator<ResultRow> {
  let names: readonly string[] | undefined;
  for (const row of rowsOf(text)) {
    if ('says' in row) throw new ResultFault(row.line, row.says);
    const line = row[0]?.line ?? 1;
    if (names) {
      if (row.length !== names.length)
        throw new ResultFault(line, `The row has ${row.length} cells, but the header has ${names.length}`);
      yield rowOf(fieldsOf(names, row), line);
    } else names = headerOf(row);
  }
  if (!names) throw new ResultFault(undefined, 'The file is empty');
}

function headerOf(row: readonly CsvCell[]): readonly string[] {
  const names = row.map(({ text }) => text.trim().toLowerCase());
  const lacking = ['case', 'pass'].filter(name => !names.includes(name));
  if (lacking.length > 0) throw new ResultFault(1, `The first line has no column ${lacking.join(' and no column ')}`);
  const twice = COLUMNS.find(name => names.indexOf(name) !== names.lastIndexOf(name));
  if (twice !== undefined) throw new ResultFault(1, `The column ${twice} occurs twice in the first line`);
  return names;
}

/** One JSON object per line. Skips blank lines. */
export function* jsonLinesRows(text: string): Generator<ResultRow> {
  let line = 0;
  for (const one of text.split('\n')) {
    line++;
    if (one.trim() === '') continue;
    const reading = readJson(Buffer.from(one), { bytesMax: LINE_BYTES_MAX });
    if (!reading.ok) throw new ResultFault(line, reading.refusal.message.replace(/\.$/, ''));
    const { value } = reading;
    if (!isObject(value)) throw new ResultFault(line, 'The line is not a JSON object');
    yield rowOf(new Map(Object.entries(value).map(([name, field]) => [name, textOf(field)])), line);
  }
}

const LINE_BYTES_MAX = 1024 * 1024;

const COLUMNS: readonly string[] = ['case', 'trial', 'pass', 'rerun', ...METRIC_NAMES];

function fieldsOf(names: readonly string[], row: readonly CsvCell[]): ReadonlyMap<string, string> {
  return new Map(names.map((name, index) => [name, row[index]?.text.trim() ?? '']));
}

/** A JSON value as a table cell; null is an empty cell. */
function textOf(value: unknown): string {
  if (value === null) return '';
  return typeof value === 'string' ? value.trim() : (JSON.stringify(value) ?? '');
}

function rowOf(fields: ReadonlyMap<string, string>, line: number): ResultRow {
  const name = fields.get('case') ?? '';
  if (name === '') throw new ResultFault(line, 'case is missing');
  const word = fields.get('pass');
  if (word === undefined) throw new ResultFault(line, 'pass is missing');
  const metrics: Record<string, number> = {};
  for (const metric of METRIC_NAMES) {
    const value = numberOf(fields.get(metric), metric, line, metric !== 'score');
    if (value !== undefined) metrics[metric] = value;
  }
  const trial = numberOf(fields.get('trial'), 'trial', line, true);
  return {
    case: name,
    ...(trial !== undefined && { trial }),
    pass: flagOf(PASSES, word, 'pass', line),
    rerun: flagOf(RERUNS, fields.get('rerun') ?? '', 'rerun', line),
    metrics,
    line,
  };
}

function numberOf(text: string | undefined, name: string, line: number, isPositive: boolean): number | undefined {
  if (text === undefined || text === '') return undefined;
  const value = NUMBER.test(text) ? Number(text) : Number.NaN;
  if (!Number.isFinite(value) || (isPositive && value < 0))
    throw new ResultFault(line, `${name} must be a number${isPositive ? ' of at least 0' : ''}`);
  return value;
}

const NUMBER = /^-?\d{1,15}(?:\.\d{1,20})?(?:e[-+]?\d{1,3})?$/i;

function flagOf<Value>(values: Readonly<Record<string, Value>>, word: string, name: string, line: number): Value {
  const key = word.toLowerCase();
  if (!Object.hasOwn(values, key))
    throw new ResultFault(line, `${name} must be ${Object.keys(values).filter(Boolean).join(', ')} or empty`);
  return values[key] as Value;
}

const RERUNS: Readonly<Record<string, boolean>> = { true: true, false: false, 1: true, 0: false, '': false };

/** Null for a case that did not run. */
const PASSES: Readonly<Record<string, boolean | null>> = {
  true: true,
  false: false,
  1: true,
  0: false,
  pass: true,
  fail: false,
  passed: true,
  failed: false,
  error: false,
  skipped: null,
  '': null,
};
