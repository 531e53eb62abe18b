import { Needles } from './needles.ts';
import { secretForms } from './secret-forms.ts';

/**
 * Masks exact values in a stream of bytes, also where a value is cut in two by the borders of its chunks: the first that
 * stands there, of those that begin together the longest, wherever the borders are. Each value is looked for in all its
 * usual forms.
 */
export class Masker {
  readonly #needles: Needles;
  #held: Buffer = Buffer.alloc(0);
  masked = 0;

  /** Many streams with the same secrets share what `needlesOf` made of them. */
  constructor(secrets: readonly string[] | Needles) {
    this.#needles = secrets instanceof Needles ? secrets : needlesOf(secrets);
  }

  take(chunk: Buffer): Buffer {
    if (this.#needles.longest === 0) return chunk;
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

  /** All the bytes of something that is no stream. */
  whole(bytes: Buffer): Buffer {
    return this.#needles.longest === 0 ? bytes : this.#mask(bytes, false).bytes;
  }

  /** Everything up to where a secret might begin that is not whole yet: it may be longer than one that is. */
  #mask(bytes: Buffer, canGrow: boolean): { bytes: Buffer; rest: Buffer } {
    const parts: Buffer[] = [];
    let from = 0;
    let end = canGrow ? this.#beginningAtEnd(bytes, from) : bytes.length;
    for (let hit = this.#needles.find(bytes, from); hit && hit.at < end; hit = this.#needles.find(bytes, from)) {
      parts.push(bytes.subarray(from, hit.at), MASK);
      from = hit.at + hit.length;
      if (end < from) end = this.#beginningAtEnd(bytes, from);
      this.masked++;
    }
    parts.push(bytes.subarray(from, end));
    return { bytes: parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts), rest: bytes.subarray(end) };
  }

  /** Where the longest end of these bytes begins that is the beginning of a secret. */
  #beginningAtEnd(bytes: Buffer, from: number): number {
    for (let at = Math.max(from, bytes.length - this.#needles.longest + 1); at < bytes.length; at++) {
      if (this.#needles.beginsAt(bytes, at)) return at;
    }
    return bytes.length;
  }
}

const MASK = Buffer.from('[masked]');

/** What to look for, where these values must not be seen. */
export function needlesOf(secrets: readonly string[]): Needles {
  return new Needles(secretForms(secrets));
}
