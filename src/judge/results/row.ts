import type { MetricComparison } from '../../contracts/comparison/index.ts';

/** A number that a tool measured of a trial. */
export type Metric = MetricComparison['name'];

export const METRIC_NAMES: readonly Metric[] = ['latency_ms', 'cost_usd', 'score'];

/** One result of one case, whatever tool wrote it. */
export interface ResultRow {
  readonly case: string;
  /** Absent where the tool does not number trials. */
  readonly trial?: number;
  /** Null where the case was listed and not tried: skipped, pending, disabled. */
  readonly pass: boolean | null;
  readonly rerun: boolean;
  readonly metrics: Readonly<Partial<Record<Metric, number>>>;
  readonly line: number;
}

/** Why a file of results cannot be read. It quotes nothing of the file, which may hold a secret. */
export class ResultFault extends Error {
  readonly line: number | undefined;

  constructor(line: number | undefined, says: string) {
    super(says);
    this.line = line;
  }
}

/** Names of suites and of the test in them, from outside to inside. */
export function rowName(parts: readonly string[]): string {
  return parts
    .map(part => part.trim())
    .filter((part, index, all) => part !== '' && part !== all[index - 1])
    .join(' > ');
}

/** Counts lines up to a place in a text. */
export function lineAt(text: string, at: number): number {
  let line = 1;
  for (let feed = text.indexOf('\n'); feed >= 0 && feed < at; feed = text.indexOf('\n', feed + 1)) line++;
  return line;
}
