/**
 * Finds characters escaped as `\u0041` or `\x41`. Other escapes such as `\n` are common in text. They matter only near
 * such a character, because a secret's forms include its usual escapes.
 */
export class SpeltOut {
  readonly #written: Buffer;
  readonly #reach: number;
  /** The next escape of each kind, or the end. Separate, so that many of one kind do not repeat the search for the other. */
  readonly #next = [
    { escape: '\\u', at: -1 },
    { escape: '\\x', at: -1 },
  ];
  #last = Number.NEGATIVE_INFINITY;

  constructor(written: Buffer, around: number) {
    this.#written = written;
    this.#reach = ESCAPE_BYTES_MAX * around;
  }

  /** The first position at `from` or later that is near such an escape. `from` must never decrease. */
  from(from: number): number {
    for (const next of this.#next) {
      while (next.at < from) {
        if (next.at >= 0) this.#last = Math.max(this.#last, next.at);
        const at = this.#written.indexOf(next.escape, next.at + 1);
        next.at = at < 0 ? this.#written.length : at;
      }
    }
    if (from <= this.#last + this.#reach) return from;
    let place = Math.max(from, Math.min(...this.#next.map(({ at }) => at)) - this.#reach);
    // JSON reads backslashes in pairs, so start at the first of a sequence.
    while (place > from && this.#written[place - 1] === BACKSLASH) place--;
    return place;
  }
}

export const BACKSLASH = 0x5c;
/** JSON in JSON in JSON. */
export const SLASHES_MAX = 8;
/** The escape of one character, with all its backslashes. */
const ESCAPE_BYTES_MAX = SLASHES_MAX + 1;
