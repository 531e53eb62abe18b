import { setTimeout as wait } from 'node:timers/promises';

/**
 * Prevents a dead target from costing a timeout per case. After `failuresMax` consecutive attempts without a response,
 * the breaker sends one probe at a time, with growing pauses. The first response resumes normal operation. If every
 * probe fails, the breaker gives up.
 */
export class Breaker {
  readonly #failuresMax: number;
  readonly #pausesMs: readonly number[];
  #failures = 0;
  #probes = 0;
  #isProbing = false;
  #waiting: (() => void)[] = [];

  constructor(failuresMax: number, pausesMs: readonly number[] = PAUSES_MS) {
    this.#failuresMax = failuresMax;
    this.#pausesMs = pausesMs;
  }

  get isGivenUp(): boolean {
    return this.#probes >= this.#pausesMs.length;
  }

  /** Waits for permission to send. Returns a callback for the result, or undefined if the breaker has given up. */
  async enter(signal: AbortSignal): Promise<((reached: boolean) => void) | undefined> {
    while (this.#isProbing) await new Promise<void>(resolve => this.#waiting.push(resolve));
    if (this.isGivenUp) return undefined;
    if (this.#failuresMax === 0 || this.#failures < this.#failuresMax) return reached => this.#note(reached);
    this.#isProbing = true;
    await wait(this.#pausesMs[this.#probes], undefined, { signal }).catch(() => undefined);
    return reached => {
      this.#probes++;
      this.#note(reached);
      this.#isProbing = false;
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const wake of waiting) wake();
    };
  }

  #note(reached: boolean): void {
    this.#failures = reached ? 0 : this.#failures + 1;
    if (reached) this.#probes = 0;
  }
}

const PAUSES_MS = [1_000, 2_000, 4_000, 8_000, 15_000];
