import { type Metric, type ResultRow, ResultFault } from '../../run/results/row.ts';

/** A trial as a comparison counts it. */
interface ResultTrial extends Readonly<Record<Exclude<Metric, 'ttft_ms'>, number | null>> {
  readonly verdict: 'pass' | 'fail';
  readonly error_class: null;
  /** Judged by the tool that wrote it, with or without a score. */
  readonly isResult: true;
  readonly ttft_ms?: number;
  readonly rerun?: true;
}

/** The results of one side for a case. */
export interface ResultCase {
  readonly trials: ResultTrial[];
  /** How often it was listed but did not run. */
  skipped: number;
}

/** The results of one side, from one or more files. */
export class ResultSide {
  readonly cases = new Map<string, ResultCase>();
  trials = 0;

  /** Adds the rows of a file. With `isRerun`, all of them count as reruns. */
  add(rows: Iterable<ResultRow>, isRerun: boolean): void {
    const numbered = new Set<string>();
    for (const row of rows) {
      if (row.trial !== undefined) {
        const key = `${row.trial} ${row.rerun} ${row.case}`;
        if (numbered.has(key)) throw new ResultFault(row.line, 'This trial of this case is already in the file');
        numbered.add(key);
      }
      this.#take(row, isRerun || row.rerun);
    }
  }

  #take({ case: name, pass, metrics, line }: ResultRow, isRerun: boolean): void {
    if (Buffer.byteLength(name) > NAME_BYTES_MAX)
      throw new ResultFault(line, `The name of a case is longer than ${NAME_BYTES_MAX} bytes`);
    for (const [metric, value] of Object.entries(metrics)) {
      if (Math.abs(value) > MEASURE_MAX)
        throw new ResultFault(line, `${metric} must be at most ${MEASURE_MAX.toLocaleString('en-US')}`);
    }
    const one = this.#caseOf(name, line);
    if (pass === null) {
      one.skipped++;
      return;
    }
    if (++this.trials > TRIALS_MAX)
      throw new ResultFault(line, `The side has more than ${TRIALS_MAX.toLocaleString('en-US')} trials`);
    one.trials.push({
      verdict: pass ? 'pass' : 'fail',
      error_class: null,
      isResult: true,
      ...NOT_MEASURED,
      ...metrics,
      ...(isRerun && { rerun: true }),
    });
  }

  #caseOf(name: string, line: number): ResultCase {
    const known = this.cases.get(name);
    if (known) return known;
    if (this.cases.size === CASES_MAX)
      throw new ResultFault(line, `The side has more than ${CASES_MAX.toLocaleString('en-US')} cases`);
    const made = { trials: [], skipped: 0 };
    this.cases.set(name, made);
    return made;
  }
}

const NAME_BYTES_MAX = 1_024;
/** About thirty years in milliseconds. Sums of larger numbers could overflow and defeat the limits. */
const MEASURE_MAX = 1e12;
const CASES_MAX = 100_000;
const TRIALS_MAX = 1_000_000;

const NOT_MEASURED = { latency_ms: null, cost_usd: null, score: null } as const;
