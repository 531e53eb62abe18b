import { Sieve, SievedPlaces } from './sieve.ts';

/** A text that was found: where it begins, and its length. */
export interface Hit {
  readonly at: number;
  readonly length: number;
}

/** Many texts that are looked for in bytes at once: how many they are hardly matters to how long it takes. */
export class Needles {
  /** Sorted, so that those with a common beginning are neighbours, the shortest first. */
  readonly #sorted: readonly Buffer[];
  /** Where those begin in the list that begin with a byte. */
  readonly #starts: readonly number[];
  /** How far a window of the shortest length may be moved on, by the last two bytes in it. */
  readonly #shifts = new Uint8Array(65_536);
  /** Whether one begins with these two bytes. */
  readonly #begins = new Uint8Array(65_536);
  readonly #shortest: number;
  #searchedBytes = 0;
  /** Built once so much was searched that it is worth it. */
  #sieve: Sieve | 'none' | undefined;
  readonly longest: number;
  /** The same values without their forms. */
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

  /** The first that begins at `from` or later; of those that begin together the longest. */
  find(bytes: Buffer, from: number): Hit | undefined {
    return this.over(bytes).next(from);
  }

  /** A search that reads no byte twice. Callers must not go back. */
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

  /** The next place where one may begin, or -1. For small texts, and for needles without a sieve. */
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

  /** Whether all the bytes from here on are the beginning of one that is longer than they are. */
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
      // Mostly all that are left go on alike.
      if (this.#sorted[low]?.[depth] !== next) low = this.#bound(low, high, depth, next);
      if (this.#sorted[high - 1]?.[depth] !== next) high = this.#bound(low, high, depth, next + 1);
    }
    return { length, canGrow: false };
  }

  /** The first of some neighbours whose byte at `depth` is not below `byte`. */
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
/** Smaller texts are not worth a call into the sieve, and fewer bytes in all not worth building it, which takes some milliseconds. */
const SMALL_BYTES = 512;
const WORTH_BYTES = 128 * 1024;
