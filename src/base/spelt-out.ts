/**
 * Finds letters that are spelt out with a backslash: `\u0041`, `\x41`. Text is full of other escapes, such as `\n`. Those matter
 * only near a letter that is spelt out, because usual escapes of a secret are forms of it.
 */
export class SpeltOut {
  readonly #written: Buffer;
  readonly #reach: number;
  /** The next letter of each kind, or the end. Kept apart, so that many of one kind do not repeat the search for the other. */
  readonly #next = [
    { escape: '\\u', at: -1 },
    { escape: '\\x', at: -1 },
  ];
  #last = Number.NEGATIVE_INFINITY;

  constructor(written: Buffer, around: number) {
    this.#written = written;
    this.#reach = ESCAPE_BYTES_MAX * around;
  }

  /** The first place at `from` or later that is near one. Callers must not go back. */
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
    // JSON reads backslashes in pairs, so a row must be read from its first.
    while (place > from && this.#written[place - 1] === BACKSLASH) place--;
    return place;
  }
}

export const BACKSLASH = 0x5c;
/** JSON in JSON in JSON. */
export const SLASHES_MAX = 8;
/** An escape of one letter, with all its backslashes. */
const ESCAPE_BYTES_MAX = SLASHES_MAX + 1;
