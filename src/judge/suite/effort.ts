import { Unjudgeable } from './unjudgeable.ts';

/**
 * Counts pattern steps: instructions in the pattern times characters in the text. The count is known before a search
 * and is the same on every machine, so it limits time without a clock.
 */
export class Effort {
  readonly #each: number;
  readonly #here: number;
  #taken = 0;
  #takenHere = 0;

  /** At most `each` steps per expectation, and `here` in total in this thread. */
  constructor({ each = STEPS_MAX, here = Number.POSITIVE_INFINITY }: { each?: number; here?: number } = {}) {
    this.#each = each;
    this.#here = here;
  }

  /** Starts the count for another expectation. */
  begin(): void {
    this.#taken = 0;
  }

  /** The steps taken in this thread. */
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

/** Thrown if a judgement would block this thread for so long that it could not handle signals. */
export class TooMuchHere extends Error {
  override readonly name = 'TooMuchHere';
}

/** At worst 15 seconds on a slow machine; patterns without large counts take a hundredth of that. */
const STEPS_MAX = 250_000_000;

/** At worst one second. */
export const STEPS_HERE_MAX = 15_000_000;

const TOO_MANY = 'The pattern takes too many steps on a text of this length. Use smaller counts, or split it.';
