/** A cache with text keys that evicts its oldest values. */
export class BoundedCache<Value> {
  readonly #values = new Map<string, Value>();
  readonly #max: number;
  readonly #weigh: (value: Value) => number;
  #weight = 0;

  /** `max` limits the number of values, or their total weight. */
  constructor(max: number, weigh: (value: Value) => number = () => 1) {
    this.#max = max;
    this.#weigh = weigh;
  }

  get(key: string, make: () => Value): Value {
    const known = this.#values.get(key);
    if (known !== undefined) return known;
    const value = make();
    this.#weight += this.#weigh(value);
    for (const [oldest, old] of this.#values) {
      if (this.#weight <= this.#max) break;
      this.#values.delete(oldest);
      this.#weight -= this.#weigh(old);
    }
    this.#values.set(key, value);
    return value;
  }
}
