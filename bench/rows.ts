import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { writeAtomic } from '../src/base/atomic.ts';

/** A measured value, and whether it is within its limit. */
export interface Row {
  readonly what: string;
  readonly ratio: number;
  readonly bound: string;
  readonly holds: boolean;
  readonly detail: string;
}

export function rowAtMost(what: string, ratio: number, max: number, detail: string): Row {
  return { what, ratio, bound: `<= ${max}`, holds: ratio <= max, detail };
}

/** Prints the rows and stores them with `more`. The benchmark fails if a row exceeds its limit. */
export function printRows(benchmark: string, rows: readonly Row[], more: object = {}): void {
  showRows(rows);
  const folder = path.join(process.cwd(), 'bench', 'results');
  mkdirSync(folder, { recursive: true });
  const results = { node: process.version, rows };
  writeAtomic(path.join(folder, `${benchmark}.json`), `${JSON.stringify({ ...results, ...more }, null, 2)}\n`);
  console.log(JSON.stringify(results));
}

/** Prints the rows, and stores nothing. The benchmark fails if a row exceeds its limit. */
export function showRows(rows: readonly Row[]): void {
  console.table(
    Object.fromEntries(
      rows.map(({ what, ratio, bound, holds, detail }) => [
        what,
        { measured: Number(ratio.toFixed(2)), bound, holds: holds ? 'yes' : 'NO', detail },
      ]),
    ),
  );
  if (rows.some(({ holds }) => !holds)) process.exitCode = 1;
}
