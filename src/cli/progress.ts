import { monotonicMs } from '../base/clock.ts';
import { durationText } from './units.ts';

/** How a suite comes along: a line that is written over in a terminal, and one every ten seconds elsewhere. */
export class ProgressLine {
  readonly #write: (text: string) => unknown;
  /** How wide the terminal is just now; undefined where nobody watches. */
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
    // Cases of an earlier sitting took none of this time.
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

/** A line that wraps cannot be written over. The id goes first, then the end; the last column stays free. */
function fitting(id: string, text: string, columns: number): string {
  const whole = `${id}  ${text}`;
  return (whole.length < columns ? whole : text).slice(0, Math.max(0, columns - 1));
}

function rate(perSecond: number): string {
  return perSecond >= 1
    ? `${perSecond.toFixed(perSecond < 10 ? 1 : 0)} a second`
    : `${(perSecond * 60).toFixed(1)} a minute`;
}

/** The width of a terminal that a person looks at. Those who keep logs of pipelines set CI, also where they lend a terminal. */
export function watchedColumns(stream: NodeJS.WriteStream, { CI }: NodeJS.ProcessEnv): (() => number) | undefined {
  const isPipeline = CI !== undefined && CI !== '' && CI !== '0' && CI !== 'false';
  return stream.isTTY && !isPipeline ? () => stream.columns || 80 : undefined;
}
