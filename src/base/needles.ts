import { Sieve, SievedPlaces } from './sieve.ts';

/** The position and the length of a match. */
export interface Hit {
  readonly at: number;
  readonly length: number;
}

/** Searches bytes for many texts at once. The number of texts hardly affects the time. */
export class Needles {
  /** Sorted, so that texts with a common prefix are adjacent, shortest first. */
  readonly #sorted: readonly Buffer[];
  /** The index of the first text for each initial byte. */
  readonly #starts: readonly number[];
  /** How far a window of the shortest length can move, by its last two bytes. */
  readonly #shifts = new Uint8Array(65_536);
  /** 1 for every pair of bytes that starts a text. */
  readonly #begins = new Uint8Array(65_536);
  readonly #shortest: number;
  #searchedBytes = 0;
  /** Built only after enough bytes were searched. */
  #sieve: Sieve | 'none' | undefined;
  readonly longest: number;
  /** The values without their escaped or encoded forms. */
  readonly plain: Needles | undefined;

  constructor(texts: readonly string[], plain?: Needles) {
    this.plain = plain;
    this.#sorted = texts.map(text => Buffer.from(text)).sort((a, b) => Buffer.compare(a, b));
    const lengths = this.#sorted.map(({ length }) => length);
    this.#shortest = Math.min(
      SHIFT_MAX,
      lengths.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY),
    );
    this.longest = lengths.reduce((a, b) => Math.max(a, b), 0);
    this.#starts = Array.from({ length: 257 }, (_, byte) => this.#bound(0, this.#sorted.length, 0, byte));
    if (this.longest > 0 && this.#shortest > 1) this.#measure();
  }

  /** The first match at `from` or later; of several at one position, the longest. */
  find(bytes: Buffer, from: number): Hit | undefined {
    return this.over(bytes).next(from);
  }

  /** A search that reads no byte twice. `from` must never decrease. */
  over(bytes: Buffer): { next(from: number): Hit | undefined } {
    const places = this.#placesIn(bytes);
    return {
      next: from => {
        for (let at = places.next(from); at >= 0; at = places.next(at + 1)) {
          const length = this.#canBeginAt(bytes, at) ? this.#match(bytes, at).length : 0;
          if (length > 0) return { at, length };
        }
        return undefined;
      },
    };
  }

  #placesIn(bytes: Buffer): { next(from: number): number } {
    this.#searchedBytes += bytes.length;
    if (this.#searchedBytes >= WORTH_BYTES) this.#sieve ??= Sieve.of(this.#sorted) ?? 'none';
    return this.#sieve instanceof Sieve && bytes.length >= SMALL_BYTES
      ? new SievedPlaces(this.#sieve, bytes)
      : { next: from => this.#placeFrom(bytes, from) };
  }

  /** The next position where a text may start, or -1. For small inputs, and for needles without a sieve. */
  #placeFrom(bytes: Buffer, from: number): number {
    const last = bytes.length - this.#shortest;
    if (this.#shortest === 1) return from <= last ? from : -1;
    const toPair = this.#shortest - 2;
    for (let at = from; at <= last; at++) {
      const shift = this.#shifts[pairAt(bytes, at + toPair)] as number;
      if (shift > 0) at += shift - 1;
      else if (this.#begins[pairAt(bytes, at)] === 1) return at;
    }
    return -1;
  }

  #canBeginAt(bytes: Buffer, at: number): boolean {
    return this.#shortest === 1 || this.#begins[pairAt(bytes, at)] === 1;
  }

  /** Whether the bytes from `at` to the end are a proper prefix of a text. */
  beginsAt(bytes: Buffer, at: number): boolean {
    const byte = bytes[at] as number;
    return this.#starts[byte] !== this.#starts[byte + 1] && this.#match(bytes, at).canGrow;
  }

  #match(bytes: Buffer, at: number): { length: number; canGrow: boolean } {
    const byte = bytes[at] as number;
    let low = this.#starts[byte] as number;
    let high = this.#starts[byte + 1] as number;
    let length = 0;
    for (let depth = 1; low < high; depth++) {
      if (this.#sorted[low]?.length === depth) {
        length = depth;
        low++;
      }
      const next = bytes[at + depth];
      if (next === undefined) return { length, canGrow: low < high };
      // Usually all remaining texts continue with the same byte.
      if (this.#sorted[low]?.[depth] !== next) low = this.#bound(low, high, depth, next);
      if (this.#sorted[high - 1]?.[depth] !== next) high = this.#bound(low, high, depth, next + 1);
    }
    return { length, canGrow: false };
  }

  /** The first text in the range whose byte at `depth` is at least `byte`. */
  #bound(from: number, to: number, depth: number, byte: number): number {
    let low = from;
    let high = to;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#sorted[middle]?.[depth] ?? -1) < byte) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #measure(): void {
    const end = this.#shortest - 1;
    this.#shifts.fill(end);
    for (const needle of this.#sorted) {
      this.#begins[pairAt(needle, 0)] = 1;
      for (let at = 1; at <= end; at++) {
        const pair = pairAt(needle, at - 1);
        this.#shifts[pair] = Math.min(this.#shifts[pair] as number, end - at);
      }
    }
  }
}

function pairAt(bytes: Buffer, at: number): number {
  return ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
}

const SHIFT_MAX = 255;
/** Smaller inputs are not worth a call into the sieve. Below this total, building it (some milliseconds) is not worthwhile. */
const SMALL_BYTES = 512;
const WORTH_BYTES = 128 * 1024;
