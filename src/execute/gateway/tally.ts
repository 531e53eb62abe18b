export interface Tallied {
  readonly total: number;
  readonly listed: readonly Counted[];
}

interface Counted {
  readonly what: string;
  readonly where: string;
  readonly count: number;
}

/** Counts repeated events. The agent controls their number, so at most 50 distinct ones are listed. */
export class BoundedTally {
  #total = 0;
  readonly #counts = new Map<string, Counted>();

  add(what: string, where: string, times = 1): void {
    this.#total += times;
    const key = `${what} ${where}`;
    const { count = 0 } = this.#counts.get(key) ?? {};
    if (count > 0 || this.#counts.size < LISTED_MAX) this.#counts.set(key, { what, where, count: count + times });
  }

  told(): Tallied {
    return { total: this.#total, listed: [...this.#counts.values()] };
  }
}

/** The text of each event has at most 200 characters. */
const LISTED_MAX = 50;
