import { monotonicMs } from '../../base/clock.ts';
import { durationText } from './units.ts';

/** The progress of a suite: one line that updates in a terminal, or a line every 10 s elsewhere. */
export class ProgressLine {
  readonly #write: (text: string) => unknown;
  /** The current width of the terminal; undefined without one. */
  readonly #columns: (() => number) | undefined;
  #id = '';
  #startedMs = 0;
  #shownMs = 0;
  #first = 0;
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
  }

  readonly show = ({ done, failed, total }: { done: number; failed: number; total: number }): void => {
    // Cases finished before a resume do not count toward the rate.
    if (this.#first < 0) this.#first = done - 1;
    const nowMs = monotonicMs();
    if (nowMs - this.#shownMs < (this.#columns ? 100 : 10_000)) return;
    this.#shownMs = nowMs;
    const perMs = (done - this.#first) / (nowMs - this.#startedMs);
    const left = durationText(Math.round((total - done) / perMs));
    const text = `${done}/${total}${failed > 0 ? `, ${failed} without an answer` : ''}  ${rate(perMs * 1000)}, ${left} left`;
    this.#write(this.#columns ? `\r${fitting(this.#id, text, this.#columns())}\u001b[K` : `${this.#id}  ${text}\n`);
    this.#isShown = this.#columns !== undefined;
  };

  end(): void {
    if (this.#isShown) this.#write('\r\u001b[K');
    this.#isShown = false;
  }
}

/** Keeps the line shorter than the terminal, because a wrapped line cannot be overwritten. The id is dropped first. */
function fitting(id: string, text: string, columns: number): string {
  const whole = `${id}  ${text}`;
  return (whole.length < columns ? whole : text).slice(0, Math.max(0, columns - 1));
}

function rate(perSecond: number): string {
  return perSecond >= 1 ? `${perSecond.toFixed(perSecond < 10 ? 1 : 0)}/s` : `${(perSecond * 60).toFixed(1)}/min`;
}

/** The width of the terminal; undefined in CI, where a terminal may exist but its output becomes a log. */
export function watchedColumns(stream: NodeJS.WriteStream, { CI }: NodeJS.ProcessEnv): (() => number) | undefined {
  const isPipeline = CI !== undefined && CI !== '' && CI !== '0' && CI !== 'false';
  return stream.isTTY && !isPipeline ? () => stream.columns || 80 : undefined;
}
