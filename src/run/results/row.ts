import type { MetricComparison } from '../../contracts/comparison/index.ts';

/** A number that a tool measured for a trial. */
export type Metric = MetricComparison['name'];

export const METRIC_NAMES: readonly Metric[] = ['latency_ms', 'ttft_ms', 'cost_usd', 'score'];

/** One result of one case, from any tool. */
export interface ResultRow {
  readonly case: string;
  /** Absent if the tool does not number trials. */
  readonly trial?: number;
  /** Null if the case was listed but did not run: skipped, pending or disabled. */
  readonly pass: boolean | null;
  readonly rerun: boolean;
  readonly metrics: Readonly<Partial<Record<Metric, number>>>;
  readonly line: number;
}

/** Why a results file cannot be read. It never quotes the file, which may contain secrets. */
export class ResultFault extends Error {
  readonly line: number | undefined;

  constructor(line: number | undefined, says: string) {
    super(says);
    this.line = line;
  }
}

/** The names of the suites and the test, outermost first. */
export function rowName(parts: readonly string[]): string {
  return parts
    .map(part => part.trim())
    .filter((part, index, all) => part !== '' && part !== all[index - 1])
    .join(' > ');
}

/** Counts lines up to a position in a text. */
export function lineAt(text: string, at: number): number {
  let line = 1;
  for (let feed = text.indexOf('\n'); feed >= 0 && feed < at; feed = text.indexOf('\n', feed + 1)) line++;
  return line;
}
