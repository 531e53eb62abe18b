import { counted } from '../base/counted.ts';
import type { Matrix, MatrixCase } from '../contracts/matrix.ts';
import { code, prose } from './markdown-text.ts';
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

/** A matrix as a comment for a pull request: the verdict, the versions, the pairs and the cases that differ. */
export function matrixMarkdown(matrix: Matrix): string {
  const { verdict, reason, matrix_id } = matrix;
  const lines = [
    `## ${MARKS[verdict]} ${MATRIX_WORDS[verdict]}`,
    '',
    prose(reason),
    '',
    ...versionLines(matrix),
    ...gridLines(matrix),
    ...conditionRows(matrix),
    ...caseLines(matrix),
    alarmsText(matrix),
    '',
    `Matrix ${code(matrix_id)}. ${NOT_EVIDENCE}`,
  ];
  return `${lines.join('\n')}\n`;
}

const MARKS = { no_regression: '✅', regression: '❌', not_enough_evidence: '❔' } as const;
/** With eight versions, a row takes at most 500 bytes, so the comment stays below 60 kB. */
const CASES_MAX = 80;
const CONDITIONS_MAX = 10;
const VALUE_BYTES_MAX = 50;

function versionLines({ versions }: Matrix): string[] {
  return [
    `| # | Version | Pass rate (95 %) | Trials | Missing | ${COSTS.map(({ label }) => `${capital(label)} per solved case`).join(' | ')} |`,
    `|---|---|---|---|---|${'---|'.repeat(COSTS.length)}`,
    ...versions.map((version, index) => {
      const costs = COSTS.map(one => perSolvedText(version, one)).join(' | ');
      return `| ${index + 1} | ${code(version.name)} | ${rateText(version.pass_rate)} | ${version.trials} | ${withoutTrials(version)} | ${costs} |`;
    }),
    '',
  ];
}

function gridLines({ versions, pairs }: Matrix): string[] {
  return [
    'Is the version in the column worse than the one in the row?',
    '',
    `| | ${versions.map((_, index) => index + 1).join(' | ')} |`,
    `|---|${'---|'.repeat(versions.length)}`,
    ...versions.map(({ name }, row) => {
      const cells = versions.map((_, at) => {
        const pair = pairs.find(({ baseline, candidate }) => baseline === row && candidate === at);
        return pair ? `${MARKS[pair.verdict]} ${pairWord(pair)}` : '·';
      });
      return `| ${row + 1} ${code(name)} | ${cells.join(' | ')} |`;
    }),
    '',
    ...pairs
      .filter(({ is_deciding }) => is_deciding)
      .map(pair => {
        const [candidate, baseline] = [pair.candidate, pair.baseline].map(at => code(versions[at]?.name ?? ''));
        return `- ${candidate} against ${baseline}: **${pairWord(pair)}**. ${prose(pair.reason)}`;
      }),
    '',
  ];
}

function conditionRows({ conditions, versions }: Matrix): string[] {
  if (conditions.length === 0) return [];
  const rest = conditions.length - CONDITIONS_MAX;
  return [
    ...tableHead('Condition that differs', versions.length),
    ...conditions.slice(0, CONDITIONS_MAX).map(({ field, values }) => {
      const cells = values.map(value => (value === null ? '–' : code(conditionText(value), VALUE_BYTES_MAX)));
      return `| ${code(conditionName(field))} | ${cells.join(' | ')} |`;
    }),
    ...(rest > 0 ? ['', `${counted(rest, 'more condition')} ${rest === 1 ? 'differs' : 'differ'}.`] : []),
    '',
  ];
}

function caseLines({ cases, versions, cases_total, cases_differing }: Matrix): string[] {
  const differing = cases.filter(({ differs }) => differs).slice(0, CASES_MAX);
  if (differing.length === 0) return [`No case differs between versions (${counted(cases_total, 'case')}).`, ''];
  const rest = cases_differing - differing.length;
  return [
    `<details open><summary>${cases_differing} of ${counted(cases_total, 'case')} differ between versions</summary>`,
    '',
    ...tableHead('Case', versions.length),
    ...differing.map(caseRow),
    ...(rest > 0 ? ['', `${counted(rest, 'more case')} ${rest === 1 ? 'differs' : 'differ'}.`] : []),
    '',
    '</details>',
    '',
  ];
}

function caseRow({ case_id, changed, cells }: MatrixCase): string {
  const told = cells.map(({ state, passes, trials }) =>
    trials > 1 ? `${CELL_WORDS[state]} ${passes}/${trials}` : CELL_WORDS[state],
  );
  return `| ${code(case_id, CASE_BYTES_MAX)}${changed ? ' (defined differently)' : ''} | ${told.join(' | ')} |`;
}

const CASE_BYTES_MAX = 100;

function tableHead(first: string, columns: number): string[] {
  const numbers = Array.from({ length: columns }, (_, index) => index + 1);
  return [`| ${first} | ${numbers.join(' | ')} |`, `|---|${'---|'.repeat(columns)}`];
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
