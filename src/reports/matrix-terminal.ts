import { counted } from '../base/counted.ts';
import { printable } from '../base/printable.ts';
import { shortened } from '../base/shortened.ts';
import type { Matrix, MatrixCase, MatrixPair } from '../contracts/matrix.ts';
import {
  alarmsText,
  CELL_WORDS,
  conditionName,
  conditionText,
  COSTS,
  perSolvedText,
  MATRIX_WORDS,
  NOT_EVIDENCE,
  pairWord,
  rateText,
  withoutTrials,
} from './matrix-words.ts';
import type { PaintText } from './terminal.ts';

/** A matrix for terminals of 80 columns: the cases that differ, the versions, the pairs, and the verdict last. */
export function* matrixTerminal(matrix: Matrix, paint: PaintText): Generator<string> {
  yield* casesText(matrix, paint);
  yield* conditionLines(matrix, paint);
  yield* versionTable(matrix, paint);
  yield* gridText(matrix, paint);
  yield* pairLines(matrix, paint);
  yield `\n${wrapped(alarmsText(matrix))}${wrapped(NOT_EVIDENCE)}\n`;
  const { verdict, reason } = matrix;
  yield `${paint(STYLES[verdict], `${MARKS[verdict]} ${MATRIX_WORDS[verdict]}`)}  ${said(reason, REASON_UNITS_MAX)}\n`;
}

const STYLES = { no_regression: 'good', regression: 'bad', not_enough_evidence: 'note' } as const;
const MARKS = { no_regression: '✓', regression: '✗', not_enough_evidence: '?' } as const;
const CELL_MARKS = { pass: '✓', fail: '✗', flaky: '~', missing: '?', unjudged: '–', absent: '·' } as const;
const CELL_STYLES = {
  pass: 'good',
  fail: 'bad',
  flaky: 'note',
  missing: 'note',
  unjudged: 'faint',
  absent: 'faint',
} as const;

const CASES_MAX = 20;
const CONDITIONS_MAX = 10;
const REASON_UNITS_MAX = 600;
const NAME_WIDTH = 18;
const CASE_WIDTH = 26;
const COLUMN = 6;

/** The cases whose versions differ, one column per version. */
function* casesText({ cases, versions, cases_total, cases_differing }: Matrix, paint: PaintText): Generator<string> {
  const differing = cases.filter(({ differs }) => differs);
  if (differing.length === 0) {
    yield `  ${counted(cases_total, 'case')}, and every case has the same result in all versions\n`;
    return;
  }
  const heads = versions.map((_, index) => String(index + 1).padStart(COLUMN)).join('');
  yield `  ${paint('strong', `${cases_differing} of ${counted(cases_total, 'case')} differ${cases_differing === 1 ? 's' : ''}`.padEnd(CASE_WIDTH))}${heads}\n`;
  for (const one of differing.slice(0, CASES_MAX)) yield caseLine(one, paint);
  const rest = cases_differing - Math.min(differing.length, CASES_MAX);
  if (rest > 0) yield `  ${paint('faint', `and ${counted(rest, 'more case')}, in the report`)}\n`;
  const states = new Set(differing.slice(0, CASES_MAX).flatMap(({ cells }) => cells.map(({ state }) => state)));
  yield `  ${paint('faint', [...states].map(state => `${CELL_MARKS[state]} ${CELL_WORDS[state]}`).join('  '))}\n`;
}

function caseLine({ case_id, changed, cells }: MatrixCase, paint: PaintText): string {
  const marks = cells.map(({ state, passes, trials }) => {
    const tally = trials > 1 ? `${passes}/${trials}` : '';
    return paint(CELL_STYLES[state], `${tally}${CELL_MARKS[state]}`.padStart(COLUMN));
  });
  const note = changed ? `  ${paint('note', 'defined differently')}` : '';
  return `  ${column(case_id, CASE_WIDTH)}${marks.join('')}${note}\n`;
}

/** What else differs between versions, such as their limits or cases. */
function* conditionLines({ conditions }: Matrix, paint: PaintText): Generator<string> {
  for (const { field, values } of conditions.slice(0, CONDITIONS_MAX)) {
    const told = values.map((value, index) => `${index + 1}: ${said(conditionText(value), 40)}`).join(', ');
    yield wrapped(`differs  ${said(conditionName(field), 40)}: ${told}`).replace('differs', paint('note', 'differs'));
  }
  if (conditions.length > CONDITIONS_MAX)
    yield `  ${paint('faint', `and ${counted(conditions.length - CONDITIONS_MAX, 'more condition')}, in the report`)}\n`;
}

function* versionTable({ versions, decided_by }: Matrix, paint: PaintText): Generator<string> {
  yield `\n${' '.repeat(57)}${paint('faint', 'per solved case')}\n`;
  const head = ['version'.padEnd(NAME_WIDTH + 2), 'pass rate (95 %)'.padEnd(18), 'trials ', 'missing'].join('');
  yield `  ${paint('strong', `${head}${COSTS.map(({ label, width }) => label.padStart(width)).join('')}`)}\n`;
  for (const [index, version] of versions.entries()) {
    const name =
      index === 0 && decided_by === 'reference'
        ? paint('strong', column(version.name, NAME_WIDTH))
        : column(version.name, NAME_WIDTH);
    const counts = `${String(version.trials).padStart(6)} ${String(withoutTrials(version)).padStart(7)}`;
    const costs = COSTS.map(one => perSolvedText(version, one).padStart(one.width)).join('');
    yield `  ${index + 1} ${name}${rateText(version.pass_rate).padEnd(18)}${counts}${costs}\n`;
  }
}

/** Every pair: is the version in the column worse than the one in the row? */
function* gridText({ versions, pairs }: Matrix, paint: PaintText): Generator<string> {
  const heads = versions.map((_, index) => String(index + 1).padStart(3)).join('');
  yield `\n  Is the version in the column worse than the one in the row?\n`;
  yield `  ${' '.repeat(NAME_WIDTH + 2)}${heads}   ${paint('faint', '✗ worse  ✓ not worse  ? undecided')}\n`;
  for (const [row, { name }] of versions.entries()) {
    const cells = versions.map((_, at) => {
      const pair = pairs.find(({ baseline, candidate }) => baseline === row && candidate === at);
      return pair ? `  ${paint(STYLES[pair.verdict], MARKS[pair.verdict])}` : '  ·';
    });
    yield `  ${row + 1} ${column(name, NAME_WIDTH)}${cells.join('')}\n`;
  }
}

/** The reason for each pair that decides. */
function* pairLines({ versions, pairs }: Matrix, paint: PaintText): Generator<string> {
  yield '\n';
  const nameOf = (index: number): string => said(versions[index]?.name ?? '', NAME_WIDTH);
  for (const pair of pairs.filter(({ is_deciding }) => is_deciding)) yield pairLine(pair, nameOf, paint);
}

function pairLine(pair: MatrixPair, nameOf: (index: number) => string, paint: PaintText): string {
  const { verdict, baseline, candidate, reason } = pair;
  const head = `${nameOf(candidate)} against ${nameOf(baseline)}: ${pairWord(pair)}`;
  return `  ${paint(STYLES[verdict], MARKS[verdict])} ${paint('strong', head)}\n${wrapped(said(reason, REASON_UNITS_MAX), 4)}`;
}

/** Exactly as wide as the column; longer texts are cut. */
function column(text: string, width: number): string {
  return said(text, width - 1).padEnd(width);
}

/** Agent text on one line, cut after escaping so that it fits. */
function said(text: string, unitsMax: number): string {
  return shortened(printable(text), unitsMax);
}

const WIDTH = 80;

function wrapped(text: string, indent = 2): string {
  const lines: string[] = [];
  let line = ' '.repeat(indent);
  for (const word of text.split(' ')) {
    if (line.trim() !== '' && line.length + word.length + 1 > WIDTH) {
      lines.push(line);
      line = ' '.repeat(indent);
    }
    line += line.trim() === '' ? word : ` ${word}`;
  }
  return `${[...lines, line].join('\n')}\n`;
}
