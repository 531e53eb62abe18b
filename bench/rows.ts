import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { writeAtomic } from '../src/base/atomic.ts';

/** What was measured, and whether it keeps its bound. */
export interface Row {
  readonly what: string;
  readonly ratio: number;
  readonly bound: string;
  readonly holds: boolean;
  readonly detail: string;
}

/** Shows and keeps the rows of a benchmark, which fails if one of them does not keep its bound. `more` is kept beside them. */
export function printRows(benchmark: string, rows: readonly Row[], more: object = {}): void {
  console.table(
    Object.fromEntries(
      rows.map(({ what, ratio, bound, holds, detail }) => [
        what,
        { measured: Number(ratio.toFixed(2)), bound, holds: holds ? 'yes' : 'NO', detail },
      ]),
    ),
  );
  const folder = path.join(process.cwd(), 'bench', 'results');
  mkdirSync(folder, { recursive: true });
  const results = { node: process.version, rows };
  writeAtomic(path.join(folder, `${benchmark}.json`), `${JSON.stringify({ ...results, ...more }, null, 2)}\n`);
  console.log(JSON.stringify(results));
  if (rows.some(({ holds }) => !holds)) process.exitCode = 1;
}
