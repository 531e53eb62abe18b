import { allWindows, BEGINNING_BYTES, type Fit, grouped, type Window } from './sieve-groups.ts';
import { BLOCK_BYTES_MAX, HASHES, hashOf, LAYOUT, OFFSETS, sieveProgram, WINDOW_BYTES } from './sieve-program.ts';

/**
 * Skips positions where none of many texts can begin, at several gigabytes per second. If all texts are long enough,
 * it looks only at every eighth byte. Otherwise it looks for the four bytes of each text that are rarest in ordinary
 * text.
 */
export class Sieve {
  readonly #kind: 'fitting' | 'sampled';
  readonly #halves = Buffer.alloc(32 * WINDOW_BYTES);
  readonly #offsets = Buffer.alloc(HASHES);

  /** Returns undefined if the texts are too short, too many or too common. */
  static of(texts: readonly Buffer[]): Sieve | undefined {
    const beginnings = [...new Set(texts.map(text => text.toString('latin1', 0, BEGINNING_BYTES)))];
    if (beginnings.length > TEXTS_MAX || beginnings.some(({ length }) => length < WINDOW_BYTES)) return undefined;
    if (beginnings.every(({ length }) => length === BEGINNING_BYTES)) return new Sieve(beginnings.flatMap(allWindows));
    const { groups, windows } = grouped(beginnings);
    return groups.reduce((sum, { rate }) => sum + rate, 0) > RATE_MAX ? undefined : new Sieve(windows, groups);
  }

  private constructor(windows: readonly Window[], groups?: readonly Fit[]) {
    this.#kind = groups ? 'fitting' : 'sampled';
    groups?.forEach((group, bit) => this.#admit(group, 1 << bit));
    for (const { window, offset } of windows) {
      const hash = hashOf(Buffer.from(window, 'latin1').readInt32LE(0));
      this.#offsets[hash] = (this.#offsets[hash] as number) | (1 << offset);
    }
  }

  /** The positions from `from` (inclusive) to `to` (exclusive) where a text may begin, in order. */
  sift(bytes: Buffer, from: number, to: number): readonly number[] {
    const { memory, words, [this.#kind]: sift } = sieveProgram();
    if (loaded[this.#kind] !== this) this.#load(memory);
    const length = bytes.copy(memory, LAYOUT.block, from, Math.min(bytes.length, to + BEGINNING_BYTES));
    // The last vector ends beyond the bytes.
    memory.fill(0, LAYOUT.block + length, LAYOUT.block + length + 32);
    const end = sift(LAYOUT.block, LAYOUT.block + length, LAYOUT.places);
    return placesOf(words, end / 4, from, to);
  }

  #load(memory: Buffer): void {
    if (this.#kind === 'fitting') this.#halves.copy(memory, LAYOUT.halves);
    this.#offsets.copy(memory, LAYOUT[this.#kind]);
    loaded[this.#kind] = this;
  }

  #admit({ lows, highs }: Fit, bit: number): void {
    for (let place = 0; place < WINDOW_BYTES; place++) {
      for (let half = 0; half < 16; half++) {
        const at = 32 * place + half;
        if ((((lows[place] as number) >> half) & 1) === 1) this.#halves[at] = (this.#halves[at] as number) | bit;
        if ((((highs[place] as number) >> half) & 1) === 1)
          this.#halves[at + 16] = (this.#halves[at + 16] as number) | bit;
      }
    }
  }
}

/** The positions where texts begin, in order, computed from their windows. */
function placesOf(words: Int32Array, end: number, from: number, to: number): readonly number[] {
  const places: number[] = [];
  let last = from - 1;
  let isSorted = true;
  for (let at = LAYOUT.places / 4; at < end; at++) {
    const one = words[at] as number;
    const window = (one >>> 8) - LAYOUT.block + from;
    for (let offset = OFFSETS - 1; offset >= 0; offset--) {
      const place = window - offset;
      if (((one >> offset) & 1) === 0 || place < from || place >= to) continue;
      isSorted &&= place >= last;
      last = place;
      places.push(place);
    }
  }
  return isSorted ? places : places.sort((a, b) => a - b);
}

/** The sieves whose tables are in the program's memory. */
const loaded: { fitting?: Sieve; sampled?: Sieve } = {};

/** Finds the candidate positions of a sieve in a buffer, block by block. */
export class SievedPlaces {
  readonly #sieve: Sieve;
  readonly #bytes: Buffer;
  #places: readonly number[] = [];
  #index = 0;
  #end = 0;
  /** Starts small, so that a hit near the beginning does not cost a large copy. */
  #blockBytes = BLOCK_BYTES_MIN;

  constructor(sieve: Sieve, bytes: Buffer) {
    this.#sieve = sieve;
    this.#bytes = bytes;
  }

  /** The next position at `from` or later, or -1. `from` must never decrease. */
  next(from: number): number {
    for (;;) {
      for (; this.#index < this.#places.length; this.#index++) {
        const place = this.#places[this.#index] as number;
        if (place >= from) return place;
      }
      const begin = Math.max(from, this.#end);
      if (begin >= this.#bytes.length) return -1;
      this.#end = Math.min(this.#bytes.length, begin + this.#blockBytes);
      this.#places = this.#sieve.sift(this.#bytes, begin, this.#end);
      this.#index = 0;
      this.#blockBytes = Math.min(BLOCK_BYTES_MAX, 16 * this.#blockBytes);
    }
  }
}

const TEXTS_MAX = 2_000;
/** The largest share of positions that may need a closer look. */
const RATE_MAX = 0.02;
const BLOCK_BYTES_MIN = 4_096;
