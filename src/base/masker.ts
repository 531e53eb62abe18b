import { secretForms } from './secret-forms.ts';

/**
 * Masks exact values in a stream of bytes, also where a value is cut in two by the borders of its chunks: the first that
 * stands there, of those that begin together the longest, wherever the borders are. Each value is looked for in all its
 * usual forms.
 */
export class Masker {
  /** The longest first. */
  readonly #needles: readonly Buffer[];
  readonly #longest: number;
  #held: Buffer = Buffer.alloc(0);
  masked = 0;

  constructor(secrets: readonly string[]) {
    this.#needles = secretForms(secrets)
      .map(form => Buffer.from(form))
      .sort((a, b) => b.length - a.length);
    this.#longest = this.#needles[0]?.length ?? 0;
  }

  take(chunk: Buffer): Buffer {
    if (this.#longest === 0) return chunk;
    const { bytes, rest } = this.#mask(this.#held.length > 0 ? Buffer.concat([this.#held, chunk]) : chunk, true);
    this.#held = Buffer.from(rest);
    return bytes;
  }

  /** What was held back, once nothing more can follow it. */
  end(): Buffer {
    const { bytes } = this.#mask(this.#held, false);
    this.#held = Buffer.alloc(0);
    return bytes;
  }

  /** Everything up to where a secret might begin that is not whole yet: it may be longer than one that is. */
  #mask(bytes: Buffer, canGrow: boolean): { bytes: Buffer; rest: Buffer } {
    const parts: Buffer[] = [];
    const places = this.#needles.map(() => -1);
    let from = 0;
    let end = canGrow ? this.#beginningAtEnd(bytes, from) : bytes.length;
    for (let hit = this.#find(bytes, from, places); hit && hit.at < end; hit = this.#find(bytes, from, places)) {
      parts.push(bytes.subarray(from, hit.at), MASK);
      from = hit.at + hit.length;
      if (end < from) end = this.#beginningAtEnd(bytes, from);
      this.masked++;
    }
    parts.push(bytes.subarray(from, end));
    return { bytes: parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts), rest: bytes.subarray(end) };
  }

  /** `places` remembers where each was found, so that a rare one is not looked for again after each hit of another. */
  #find(bytes: Buffer, from: number, places: number[]): { at: number; length: number } | undefined {
    let first: { at: number; length: number } | undefined;
    for (const [index, needle] of this.#needles.entries()) {
      let at = places[index] as number;
      if (at < from) {
        at = bytes.indexOf(needle, from);
        if (at < 0) at = Number.POSITIVE_INFINITY;
        places[index] = at;
      }
      if (at < (first?.at ?? Number.POSITIVE_INFINITY)) first = { at, length: needle.length };
    }
    return first;
  }

  /** Where the longest end of these bytes begins that is the beginning of a secret. */
  #beginningAtEnd(bytes: Buffer, from: number): number {
    for (let at = Math.max(from, bytes.length - this.#longest + 1); at < bytes.length; at++) {
      const end = bytes.subarray(at);
      if (this.#needles.some(needle => needle.length > end.length && needle.subarray(0, end.length).equals(end)))
        return at;
    }
    return bytes.length;
  }
}

const MASK = Buffer.from('[masked]');
