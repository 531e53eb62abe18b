import { monotonicMs } from '../base/clock.ts';
import { durationText } from './units.ts';

/** How a suite comes along: a line that is written over in a terminal, and one every ten seconds elsewhere. */
export class ProgressLine {
  readonly #write: (text: string) => unknown;
  readonly #isTerminal: boolean;
  #id = '';
  #startedMs = 0;
  #shownMs = 0;
  #first = 0;
  #isShown = false;

  constructor(write: (text: string) => unknown, isTerminal: boolean) {
    this.#write = write;
    this.#isTerminal = isTerminal;
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
    if (nowMs - this.#shownMs < (this.#isTerminal ? 100 : 10_000)) return;
    this.#shownMs = nowMs;
    const perMs = (done - this.#first) / (nowMs - this.#startedMs);
    const left = durationText(Math.round((total - done) / perMs));
    const text = `${this.#id}  ${done}/${total}${failed > 0 ? `, ${failed} without an answer` : ''}  ${rate(perMs * 1000)}, ${left} left`;
    this.#write(this.#isTerminal ? `\r${text}\u001b[K` : `${text}\n`);
    this.#isShown = this.#isTerminal;
  };

  end(): void {
    if (this.#isShown) this.#write('\r\u001b[K');
    this.#isShown = false;
  }
}

function rate(perSecond: number): string {
  return perSecond >= 1
    ? `${perSecond.toFixed(perSecond < 10 ? 1 : 0)} a second`
    : `${(perSecond * 60).toFixed(1)} a minute`;
}
