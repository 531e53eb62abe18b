import { clip } from '../../base/clip.ts';
import { type JudgedCase, trialOf } from '../../contracts/evaluation/index.ts';
import { rounded } from '../../contracts/gate/decide/distributions.ts';
import { countsAs } from '../../contracts/gate/limits/tally.ts';

/** The trials of one case in one run. */
interface Cell {
  letters: string;
  sha256: string;
  latencies: number[];
  costUsd: number | null;
  message: string | null;
}

/** One case over all runs, oldest first. Columns instead of objects, because a suite may have 100,000 cases. */
export interface CaseColumns {
  readonly id: string;
  /** One letter per trial; empty if the run does not have the case. */
  readonly trials: string[];
  readonly latencyMs: (number | null)[];
  readonly costUsd: (number | null)[];
  /** Equal for runs with the same definition of the case. */
  readonly sha256: string[];
  /** Why the newest failing trial failed. */
  message: string | null;
}

/** Collects cases run by run, newest first. */
export class CaseTable {
  readonly #cases = new Map<string, CaseColumns>();
  readonly #only: string | undefined;
  #runs = 0;

  constructor(only?: string) {
    this.#only = only;
  }

  get cells(): number {
    return this.#cases.size * this.#runs;
  }

  /** Adds an older run: the judged cases of each of its trials. */
  add(trials: readonly (readonly JudgedCase[])[]): void {
    for (const [id, cell] of cellsOf(trials, this.#only)) {
      const columns = this.#cases.get(id) ?? emptyColumns(id);
      this.#cases.set(id, columns);
      append(columns, this.#runs, cell);
    }
    this.#runs++;
  }

  /** The cases, oldest run first. */
  columns(): CaseColumns[] {
    const all = [...this.#cases.values()];
    for (const one of all) {
      fillTo(one, this.#runs);
      for (const column of [one.trials, one.latencyMs, one.costUsd, one.sha256]) column.reverse();
    }
    this.#cases.clear();
    return all;
  }
}

function cellsOf(trials: readonly (readonly JudgedCase[])[], only: string | undefined): Map<string, Cell> {
  const cells = new Map<string, Cell>();
  for (const cases of trials) {
    for (const one of cases) {
      if (only !== undefined && one.case_id !== only) continue;
      const cell = cells.get(one.case_id);
      if (cell) take(cell, one);
      else {
        const first: Cell = { letters: '', sha256: one.case_sha256, latencies: [], costUsd: null, message: null };
        cells.set(one.case_id, first);
        take(first, one);
      }
    }
  }
  return cells;
}

function take(cell: Cell, one: JudgedCase): void {
  const { latency_ms, cost_usd } = one.metrics;
  const letter = LETTERS[countsAs(trialOf(one))];
  cell.letters += letter;
  if (latency_ms !== null) cell.latencies.push(latency_ms);
  if (cost_usd !== null) cell.costUsd = (cell.costUsd ?? 0) + cost_usd;
  if (letter === 'f') cell.message = failureText(one);
}

const LETTERS = { passed: 'p', failed: 'f', unjudged: 'u', missing: 'n' } as const;

function append(columns: CaseColumns, run: number, { letters, sha256, latencies, costUsd, message }: Cell): void {
  fillTo(columns, run);
  columns.trials.push(letters);
  columns.latencyMs.push(
    latencies.length === 0 ? null : rounded(latencies.reduce((a, b) => a + b, 0) / latencies.length),
  );
  columns.costUsd.push(costUsd === null ? null : rounded(costUsd));
  columns.sha256.push(sha256);
  columns.message ??= message;
}

function emptyColumns(id: string): CaseColumns {
  return { id, trials: [], latencyMs: [], costUsd: [], sha256: [], message: null };
}

function fillTo({ trials, latencyMs, costUsd, sha256 }: CaseColumns, runs: number): void {
  while (trials.length < runs) {
    trials.push('');
    latencyMs.push(null);
    costUsd.push(null);
    sha256.push('');
  }
}

/** The first failed expectation, or why there is no answer. */
function failureText({ assertions, failure, error_class }: JudgedCase): string | null {
  const text = assertions.find(({ status }) => status === 'fail')?.message ?? failure?.message ?? error_class;
  return text === null ? null : shortMessage(text);
}

export function shortMessage(text: string): string {
  const { text: head, truncated } = clip(text, MESSAGE_BYTES_MAX);
  return truncated ? `${head}…` : head;
}

const MESSAGE_BYTES_MAX = 300;
