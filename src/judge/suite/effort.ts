import { Unjudgeable } from './unjudgeable.ts';

/**
 * Counts the steps that patterns may take: instructions of the pattern times characters of the text. The number is known
 * before a text is searched and is the same on every machine, so it bounds the time without asking a clock.
 */
export class Effort {
  readonly #each: number;
  readonly #here: number;
  #taken = 0;
  #takenHere = 0;

  /** At most `each` steps for one expectation, and `here` for all of them in this thread. */
  constructor({ each = STEPS_MAX, here = Number.POSITIVE_INFINITY }: { each?: number; here?: number } = {}) {
    this.#each = each;
    this.#here = here;
  }

  /** Another expectation is judged from now on. */
  begin(): void {
    this.#taken = 0;
  }

  /** How many were taken in this thread. */
  get taken(): number {
    return this.#takenHere;
  }

  take(steps: number): void {
    this.#taken += steps;
    this.#takenHere += steps;
    if (this.#taken > this.#each) throw new Unjudgeable(TOO_MANY);
    if (this.#takenHere > this.#here) throw new TooMuchHere();
  }
}

/** What is judged takes so long that this thread would not hear a signal. */
export class TooMuchHere extends Error {
  override readonly name = 'TooMuchHere';
}

/** At worst 15 seconds on a slow machine; patterns without large counts take a hundredth of that. */
const STEPS_MAX = 250_000_000;

/** At worst a second. */
export const STEPS_HERE_MAX = 15_000_000;

const TOO_MANY = 'The pattern takes too many steps on a text of this length. Use smaller counts, or split it.';
