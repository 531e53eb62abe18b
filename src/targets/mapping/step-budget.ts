/** Counts the work on one reply. A step is one visited value, one walk along keys, or one test of a filter. */
export class StepBudget {
  readonly stepsMax: number;
  #steps = 0;

  constructor(stepsMax: number = STEPS_MAX) {
    this.stepsMax = stepsMax;
  }

  get steps(): number {
    return this.#steps;
  }

  /** Throws TooManySteps once the budget is spent. */
  take(steps: number): void {
    this.#steps += steps;
    if (this.#steps > this.stepsMax) throw new TooManySteps();
  }
}

/** 25 for each of the 200,000 frames that a stream can have, and less than a second of work. */
const STEPS_MAX = 5_000_000;

/** Never leaves this folder: the functions that others call return a typed result. */
export class TooManySteps extends Error {
  override readonly name = 'TooManySteps';
}

/** The result of `act`, or undefined if it needs too many steps. */
export function withinSteps<Result>(act: () => Result): Result | undefined {
  try {
    return act();
  } catch (error) {
    if (error instanceof TooManySteps) return undefined;
    throw error;
  }
}
