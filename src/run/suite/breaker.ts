import { setTimeout as wait } from 'node:timers/promises';

/**
 * Keeps a dead target from costing a timeout per case. After so many attempts in a row that reached nobody, one attempt
 * at a time goes out, after a pause that grows; the first that arrives lets all others go on, and when none does, the
 * target is given up.
 */
export class Breaker {
  readonly #failuresMax: number;
  readonly #pausesMs: readonly number[];
  #failures = 0;
  #probes = 0;
  #turn: Promise<void> = Promise.resolve();

  constructor(failuresMax: number, pausesMs: readonly number[] = PAUSES_MS) {
    this.#failuresMax = failuresMax;
    this.#pausesMs = pausesMs;
  }

  get isGivenUp(): boolean {
    return this.#probes > this.#pausesMs.length;
  }

  /** Waits for the turn of the next attempt, and returns what to call with its end; undefined if the target is given up. */
  async enter(signal: AbortSignal): Promise<((reached: boolean) => void) | undefined> {
    if (!this.#isOpen) return reached => this.#note(reached);
    let leave = (): void => undefined;
    const before = this.#turn;
    this.#turn = new Promise(resolve => {
      leave = resolve;
    });
    await before;
    if (this.#isOpen && !this.isGivenUp) {
      if (this.#probes === 0) this.#probes = 1;
      await wait(this.#pausesMs[this.#probes - 1] ?? 0, undefined, { signal }).catch(() => undefined);
    }
    if (this.isGivenUp) {
      leave();
      return undefined;
    }
    if (!this.#isOpen) {
      leave();
      return reached => this.#note(reached);
    }
    return reached => {
      this.#note(reached);
      if (!reached) this.#probes++;
      leave();
    };
  }

  get #isOpen(): boolean {
    return this.#failuresMax > 0 && this.#failures >= this.#failuresMax;
  }

  #note(reached: boolean): void {
    this.#failures = reached ? 0 : this.#failures + 1;
    if (reached) this.#probes = 0;
  }
}

const PAUSES_MS = [1_000, 2_000, 4_000, 8_000, 15_000];
