/** Things of one kind that were counted, the first ones by name. */
export interface Tallied {
  readonly total: number;
  readonly listed: readonly Counted[];
}

interface Counted {
  readonly what: string;
  readonly where: string;
  readonly count: number;
}

/** Counts what happens again and again. Whoever is inside decides how often, so only so many places are kept. */
export class Tally {
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

/** So many places, each with a text of at most 200 characters. */
const LISTED_MAX = 50;
