import { monotonicMs } from './clock.ts';

export interface CacheLimits<Value> {
  readonly entriesMax: number;
  readonly unitsMax: number;
  /** What a value counts against `unitsMax`. */
  readonly unitsOf: (value: Value) => number;
  /** How long an answer stands before the files are looked at again. */
  readonly checkAfterMs: number;
}

/**
 * Values made from files, kept while the files stay as they are. The least recently used ones go first. Clients that
 * ask at the same time share the work.
 */
export class StampedCache<Value> {
  readonly #limits: CacheLimits<Value>;
  /** In the order of their last use. */
  readonly #entries = new Map<string, Entry<Value>>();
  readonly #pending = new Map<string, Promise<Value>>();
  #units = 0;

  constructor(limits: CacheLimits<Value>) {
    this.#limits = limits;
  }

  /** The value for a key. `stamp` names the state of the files; `undefined` means that the value is not kept. */
  get(key: string, stamp: () => Promise<string | undefined>, make: () => Promise<Value>): Promise<Value> {
    const known = this.#entries.get(key);
    if (known && monotonicMs() - known.checkedAtMs < this.#limits.checkAfterMs) {
      this.#use(key, known);
      return Promise.resolve(known.value);
    }
    const pending = this.#pending.get(key);
    if (pending) return pending;
    const making = this.#fresh(key, stamp, make).finally(() => this.#pending.delete(key));
    this.#pending.set(key, making);
    return making;
  }

  /** Forgets a value, so that the next look makes it again. */
  forget(key: string): void {
    this.#drop(key);
  }

  async #fresh(key: string, stampOf: () => Promise<string | undefined>, make: () => Promise<Value>): Promise<Value> {
    // Before the files are read: a change while they are read then makes the next look read them again.
    const stamp = await stampOf();
    const known = this.#entries.get(key);
    if (known && stamp !== undefined && known.stamp === stamp) {
      known.checkedAtMs = monotonicMs();
      this.#use(key, known);
      return known.value;
    }
    this.#drop(key);
    const value = await make();
    if (stamp !== undefined) this.#keep(key, { value, stamp, checkedAtMs: monotonicMs() });
    return value;
  }

  #keep(key: string, entry: Entry<Value>): void {
    const units = this.#limits.unitsOf(entry.value);
    if (units > this.#limits.unitsMax) return;
    this.#units += units;
    this.#entries.set(key, entry);
    for (const oldest of this.#entries.keys()) {
      if (this.#units <= this.#limits.unitsMax && this.#entries.size <= this.#limits.entriesMax) break;
      this.#drop(oldest);
    }
  }

  #use(key: string, entry: Entry<Value>): void {
    this.#entries.delete(key);
    this.#entries.set(key, entry);
  }

  #drop(key: string): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#units -= this.#limits.unitsOf(entry.value);
    this.#entries.delete(key);
  }
}

interface Entry<Value> {
  readonly value: Value;
  readonly stamp: string;
  checkedAtMs: number;
}
