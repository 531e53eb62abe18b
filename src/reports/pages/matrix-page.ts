import { pastedLine } from '../../base/shell.ts';
import { shortened } from '../../base/shortened.ts';
import type { Matrix, MatrixCase, MatrixPair, MatrixVersion } from '../../contracts/matrix.ts';
import { alarmsText, conditionName, conditionText, MATRIX_WORDS, NOT_EVIDENCE } from '../matrix-words.ts';
import type { SmallPage } from './page-kinds.ts';

/** The report of a comparison of two of the versions, relative to the folder of the matrix. */
export interface PairReport {
  readonly baseline: number;
  readonly candidate: number;
  readonly href: string;
}

export interface MatrixPage {
  readonly decided_by: Matrix['decided_by'];
  readonly versions: readonly MatrixVersion[];
  readonly pairs: readonly (MatrixPair & { readonly href: string | null; readonly command: string })[];
  readonly conditions: readonly { readonly name: string; readonly values: readonly string[] }[];
  readonly conditions_total: number;
  readonly cases: readonly MatrixPageCase[];
  readonly cases_total: number;
  readonly cases_differing: number;
  /** How often the verdict may be a false alarm, and what a matrix is. */
  readonly notes: readonly string[];
}

export interface MatrixPageCase extends Omit<MatrixCase, 'cells'> {
  /** One per version: the state, the passes and the trials. */
  readonly cells: readonly (readonly [state: MatrixCase['cells'][number]['state'], passes: number, trials: number])[];
}

const TONES = { no_regression: 'good', regression: 'bad', not_enough_evidence: 'unsure' } as const;

/** The page of a matrix. */
export function matrixPage(matrix: Matrix, links: readonly PairReport[]): SmallPage<'matrix'> {
  const { versions, pairs, conditions, cases } = matrix;
  return {
    kind: 'matrix',
    top: {
      subject: `${versions.length} versions`,
      id: matrix.matrix_id,
      at: matrix.generated_at,
      tone: TONES[matrix.verdict],
      word: MATRIX_WORDS[matrix.verdict],
      sentence: shortened(matrix.reason, REASON_UNITS_MAX),
    },
    data: {
      decided_by: matrix.decided_by,
      versions: versions.map(shownVersion),
      pairs: pairs.map(pair => shownPair(pair, versions, links)),
      conditions: conditions.slice(0, CONDITIONS_MAX).map(({ field, values }) => ({
        name: conditionName(field),
        values: values.map(value => shortened(conditionText(value), TITLE_UNITS_MAX)),
      })),
      conditions_total: conditions.length,
      cases: cases.slice(0, CASES_MAX).map(shownCase),
      cases_total: matrix.cases_total,
      cases_differing: matrix.cases_differing,
      notes: [alarmsText(matrix), NOT_EVIDENCE],
    },
  };
}

const CASES_MAX = 2_000;
const CONDITIONS_MAX = 50;
const RUNS_MAX = 20;
const TITLE_UNITS_MAX = 160;
const REASON_UNITS_MAX = 1_000;

function shownVersion(version: MatrixVersion): MatrixVersion {
  const facts = version.facts.map(({ name, value }) => ({ name, value: shortened(value, TITLE_UNITS_MAX) }));
  return { ...version, facts, run_ids: version.run_ids.slice(0, RUNS_MAX), seals: [] };
}

function shownPair(
  pair: MatrixPair,
  versions: readonly MatrixVersion[],
  links: readonly PairReport[],
): MatrixPage['pairs'][number] {
  const { baseline, candidate } = pair;
  return {
    ...pair,
    reason: shortened(pair.reason, REASON_UNITS_MAX),
    href: links.find(link => link.baseline === baseline && link.candidate === candidate)?.href ?? null,
    command: commandOf(pair, versions),
  };
}

function shownCase({ cells, title, ...one }: MatrixCase): MatrixPageCase {
  return {
    ...one,
    title: title === null ? null : shortened(title, TITLE_UNITS_MAX),
    cells: cells.map(({ state, passes, trials }) => [state, passes, trials]),
  };
}

/** Empty if a version is an accepted baseline, whose file the matrix does not name. */
function commandOf({ baseline, candidate }: MatrixPair, versions: readonly MatrixVersion[]): string {
  const words = [baseline, candidate]
    .map(at => versions[at])
    .flatMap(one => (one?.source === 'runs' ? (one.run_ids[0] ?? []) : []));
  if (words.length !== 2) return '';
  const named = words.some(word => word.startsWith('-')) ? ['--', ...words] : words;
  return pastedLine(['proctor', 'compare', ...named]) ?? '';
}
