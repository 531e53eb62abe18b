import { countsOf, standingOf } from '../../contracts/comparison/index.ts';
import { trialOf } from '../../contracts/evaluation/index.ts';
import { passRate } from '../../contracts/gate/decide/index.ts';
import {
  type Matrix,
  MATRIX_CASES_MAX,
  type MatrixCell,
  type MatrixVersion,
  type VersionFact,
} from '../../contracts/matrix.ts';
import type { CaseName, JudgedCase, Side } from '../compare-input.ts';
import { type Pair, pairsOf } from './pairing.ts';

/** A judged version under its name. */
export interface NamedVersion {
  readonly name: string;
  readonly side: Side;
  readonly facts?: readonly VersionFact[];
  /** The names of its cases; undefined if unknown. */
  readonly names?: ReadonlyMap<string, CaseName> | undefined;
}

/** The cases of one version: a column of the matrix. */
export class VersionCases {
  readonly cells = new Map<string, MatrixCell>();
  /** The hash of each case as it was sent first. */
  readonly hashes = new Map<string, string>();
  readonly spent = { latency_ms: new Spent(), cost_usd: new Spent(), tokens: new Spent() };
  solved = 0;

  constructor(side: Side) {
    const tried = [];
    // Pairing a side with itself gives its trials case by case, as a comparison counts them.
    for (const pair of pairsOf(side, side)) {
      const { caseId, baseline: trials } = pair;
      tried.push({ case_id: caseId, baseline: { trials }, new: { trials } });
      this.cells.set(caseId, UNJUDGED);
      this.#addSpent(pair, side);
    }
    const replayed = side.trials.some(({ conditions }) => conditions?.['settings.model_mode'] === 'replay');
    for (const { id, baseline } of countsOf(tried, { baseline: replayed, new: replayed }).counted)
      this.cells.set(id, cellOf(baseline.planned));
  }

  #addSpent({ caseId, judged }: Pair, { trials }: Side): void {
    for (const [index, one] of judged.baseline.entries()) {
      if (!one || trials[index]?.isRerun) continue;
      if (!this.hashes.has(caseId)) this.hashes.set(caseId, one.case_sha256);
      const isAnswered = one.verdict !== 'error';
      // An answer without expectations solves nothing, so its cost does not count either.
      if (isAnswered && one.metrics.score === null && one.verdict === 'pass') continue;
      if (standingOf(trialOf(one)) === 'passed') this.solved++;
      for (const [name, spent] of Object.entries(this.spent))
        spent.add(one.metrics[name as keyof typeof this.spent], isAnswered);
    }
  }
}

const UNJUDGED: MatrixCell = { state: 'unjudged', passes: 0, trials: 0 };
const ABSENT: MatrixCell = { state: 'absent', passes: 0, trials: 0 };

function cellOf({ passes, trials }: { readonly passes: number; readonly trials: number }): MatrixCell {
  if (trials === 0) return { state: 'missing', passes, trials };
  return { state: passes === trials ? 'pass' : passes === 0 ? 'fail' : 'flaky', passes, trials };
}

/** The sum of a metric. An answered trial that does not report it makes the sum unknown. */
class Spent {
  #sum = 0;
  #isUnknown = false;
  #isMeasured = false;

  add(value: JudgedCase['metrics']['cost_usd'], isAnswered: boolean): void {
    if (value === null) this.#isUnknown ||= isAnswered;
    else {
      this.#sum += value;
      this.#isMeasured = true;
    }
  }

  per(solved: number): number | null {
    return this.#isUnknown || !this.#isMeasured || solved === 0 ? null : this.#sum / solved;
  }
}

interface Column {
  readonly version: NamedVersion;
  readonly cases: VersionCases;
}

/** A row of the table of versions. `total` counts the cases of all versions. */
export function matrixVersion({ version, cases }: Column, total: number): MatrixVersion {
  const { name, side, facts = [] } = version;
  const states = { pass: 0, fail: 0, flaky: 0, missing: 0, unjudged: 0, absent: total - cases.cells.size };
  const counted = [];
  for (const cell of cases.cells.values()) {
    states[cell.state]++;
    if (cell.trials > 0) counted.push(cell);
  }
  const { spent, solved } = cases;
  return {
    name,
    source: side.source,
    run_ids: side.trials.map(({ runId }) => runId),
    seals: side.trials.flatMap(({ sealSha256 }) => sealSha256 ?? []),
    facts,
    trials: side.trials.filter(({ isRerun }) => !isRerun).length,
    pass_rate: counted.length === 0 ? null : passRate(counted),
    states,
    solved,
    per_solved: {
      cost_usd: spent.cost_usd.per(solved),
      latency_ms: spent.latency_ms.per(solved),
      tokens: spent.tokens.per(solved),
    },
  };
}

/** All cases of all versions, in the order of the first version that has them. Cases that differ come first. */
export function matrixCases(columns: readonly Column[]): Pick<Matrix, 'cases' | 'cases_total' | 'cases_differing'> {
  const ids = new Set(columns.flatMap(({ cases }) => [...cases.cells.keys()]));
  const all = Array.from(ids, case_id => {
    const cells = columns.map(({ cases }) => cases.cells.get(case_id) ?? ABSENT);
    const titles = columns.flatMap(({ version }) => version.names?.get(case_id)?.title ?? []);
    return {
      case_id,
      title: titles[0] ?? null,
      differs: new Set(cells.map(({ state }) => state)).size > 1,
      changed: new Set(columns.flatMap(({ cases }) => cases.hashes.get(case_id) ?? [])).size > 1,
      cells,
    };
  });
  const differing = all.filter(({ differs }) => differs);
  const others = all.filter(({ differs }) => !differs);
  return {
    cases_total: all.length,
    cases_differing: differing.length,
    cases: [...differing, ...others].slice(0, MATRIX_CASES_MAX),
  };
}
