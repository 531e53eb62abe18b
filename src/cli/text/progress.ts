import { monotonicMs } from '../../base/clock.ts';
import { durationText, numberText } from './units.ts';

/** The progress of a suite: one line that updates in a terminal, or a line every 10 s elsewhere. */
export class ProgressLine {
  readonly #write: (text: string) => unknown;
  /** The current width of the terminal; undefined without one. */
  readonly #columns: (() => number) | undefined;
  #id = '';
  #startedMs = 0;
  #shownMs = 0;
  #first = 0;
  #passed = 0;
  #failed = 0;
  #isShown = false;

  constructor(write: (text: string) => unknown, columns: (() => number) | undefined) {
    this.#write = write;
    this.#columns = columns;
  }

  begin(id: string): void {
    this.end();
    this.#id = id;
    this.#startedMs = monotonicMs();
    this.#shownMs = this.#startedMs;
    this.#first = -1;
    this.#passed = 0;
    this.#failed = 0;
  }

  /** `failed` is null if it is unknown how many of the cases got no answer. */
  readonly show = ({ done, failed, total }: { done: number; failed: number | null; total: number }): void => {
    // Cases finished before a resume do not count toward the rate.
    if (this.#first < 0) this.#first = done - 1;
    const nowMs = monotonicMs();
    if (nowMs - this.#shownMs < (this.#columns ? 100 : 10_000)) return;
    this.#shownMs = nowMs;
    const perMs = (done - this.#first) / (nowMs - this.#startedMs);
    const judged = { passed: this.#passed, failed: this.#failed };
    const parts = partsOf({ done, silent: failed, total, ...judged }, perMs);
    this.#write(
      this.#columns ? `\r${fitting(this.#id, parts, this.#columns())}\u001b[K` : `${lineOf(this.#id, parts)}\n`,
    );
    this.#isShown = this.#columns !== undefined;
  };

  /** Counts the early verdicts. Undefined if no line shows them. */
  get onVerdict(): ((verdict: 'pass' | 'fail' | null) => void) | undefined {
    if (!this.#columns) return undefined;
    return verdict => {
      if (verdict === 'pass') this.#passed++;
      if (verdict === 'fail') this.#failed++;
    };
  }

  end(): void {
    if (this.#isShown) this.#write('\r\u001b[K');
    this.#isShown = false;
  }
}

interface Part {
  readonly text: string;
  /** Parts with a higher rank give way first in a narrow terminal. */
  readonly rank: number;
}

interface Counts {
  readonly done: number;
  readonly total: number;
  /** Cases without an answer; null if unknown. */
  readonly silent: number | null;
  readonly passed: number;
  readonly failed: number;
}

/** `1,204/10,000  1,150 passed  30 failed  24 without an answer  312/s  28 s left`. */
function partsOf({ done, total, silent, passed, failed }: Counts, perMs: number): readonly Part[] {
  const left = (total - done) / perMs;
  // Tenths of a second would only flicker.
  const leftMs = left < 1_000 ? left : 1_000 * Math.round(left / 1_000);
  return [
    { text: `${numberText(done)}/${numberText(total)}`, rank: 0 },
    ...(passed + failed > 0
      ? [{ text: `${numberText(passed)} passed`, rank: 3 }]
      : silent === null
        ? []
        : [{ text: `${numberText(done - silent)} answered`, rank: 3 }]),
    ...(failed > 0 ? [{ text: `${numberText(failed)} failed`, rank: 1 }] : []),
    ...(silent !== null && silent > 0 ? [{ text: `${numberText(silent)} without an answer`, rank: 1 }] : []),
    { text: rate(perMs * 1_000), rank: 4 },
    { text: `${durationText(leftMs)} left`, rank: 2 },
  ];
}

function lineOf(id: string, parts: readonly Part[]): string {
  return [...(id === '' ? [] : [id]), ...parts.map(({ text }) => text)].join('  ');
}

/** Keeps the line shorter than the terminal, because a wrapped line cannot be overwritten. The id is dropped first. */
function fitting(id: string, parts: readonly Part[], columns: number): string {
  const lines = [lineOf(id, parts)];
  for (let rank = 4; rank >= 0; rank--) {
    lines.push(
      lineOf(
        '',
        parts.filter(part => part.rank <= rank),
      ),
    );
  }
  return lines.find(({ length }) => length < columns) ?? (lines.at(-1) ?? '').slice(0, Math.max(0, columns - 1));
}

function rate(perSecond: number): string {
  return perSecond >= 1 ? `${perSecond.toFixed(perSecond < 10 ? 1 : 0)}/s` : `${(perSecond * 60).toFixed(1)}/min`;
}

/** The width of the terminal; undefined if it cannot rewrite a line, and in CI, where its output becomes a log. */
export function watchedColumns(
  stream: NodeJS.WriteStream,
  { CI, TERM }: NodeJS.ProcessEnv,
): (() => number) | undefined {
  const isPipeline = CI !== undefined && CI !== '' && CI !== '0' && CI !== 'false';
  return stream.isTTY && !isPipeline && TERM !== 'dumb' ? () => stream.columns || 80 : undefined;
}
