import { CREDENTIAL_FINDERS } from './credential-finder.ts';
import type { Finder, FoundSecret, SpeltFinder } from './finder.ts';
import { Needles } from './needles.ts';
import { secretForms, secretValues } from './secret-forms.ts';
import { type Span, Stage } from './mask-stage.ts';

/** What to mask: known values and, optionally, everything that looks like a credential. */
export interface Masking {
  readonly secrets: readonly string[] | Needles;
  readonly credentials: boolean;
}

/** The number of masked ranges by kind: `declared_secret`, or the kind of a well-known credential. */
export type MaskedKinds = Readonly<Record<string, number>>;

/**
 * Masks secrets before they are stored or shown. All output of programs and agents passes through it, as a stream or as a
 * whole. The result for a stream does not depend on its chunks. Declared secrets come first, in all their usual forms: the
 * first match wins and, of several at one position, the longest.
 */
export class Masker {
  readonly #stages: readonly Stage[];
  readonly #kinds = new Map<string, number>();

  /** Several streams with the same secrets can share one `needlesOf` result. */
  constructor(masking: readonly string[] | Needles | Masking) {
    const { secrets, credentials } = isMasking(masking) ? masking : { secrets: masking, credentials: false };
    const needles = secrets instanceof Needles ? secrets : secrets.length > 0 ? needlesOf(secrets) : NO_NEEDLES;
    const note = (kind: string): void => void this.#kinds.set(kind, (this.#kinds.get(kind) ?? 0) + 1);
    this.#stages = [
      ...(needles.longest > 0 ? [new Stage([new DeclaredFinder(needles)], note, 0)] : []),
      ...(credentials ? [new Stage(CREDENTIAL_FINDERS, note, FORM_BYTES)] : []),
    ];
  }

  take(chunk: Buffer): Buffer {
    return joined(this.pieces(chunk));
  }

  /** Like `take`, but in pieces, without copying large chunks. */
  pieces(chunk: Buffer): readonly Buffer[] {
    return this.#stages.reduce<readonly Buffer[]>((all, stage) => all.flatMap(bytes => stage.take(bytes)), [chunk]);
  }

  /** Returns the held bytes at the end of the stream. */
  end(): Buffer {
    return this.#stages.reduce((bytes, stage) => {
      const taken = bytes.length > 0 ? stage.take(bytes) : [];
      return joined([...taken, stage.end()]);
    }, Buffer.alloc(0) as Buffer);
  }

  /** Masks complete bytes that are not a stream. */
  whole(bytes: Buffer): Buffer {
    return this.#stages.reduce((safe, stage) => stage.whole(safe), bytes);
  }

  /** Masks truncated bytes. If the end may be the start of a secret, it is omitted. */
  cut(bytes: Buffer): Buffer {
    return this.#stages.reduce((safe, stage) => stage.cut(safe), bytes);
  }

  /** The ranges that `whole` would mask, with overlapping ranges merged. */
  spans(bytes: Buffer): Span[] {
    const spans = this.#stages.flatMap(stage => stage.spans(bytes)).sort((a, b) => a.from - b.from);
    const apart: Span[] = [];
    for (const span of spans) {
      const last = apart.at(-1);
      if (last && span.from < last.to) apart[apart.length - 1] = { from: last.from, to: Math.max(last.to, span.to) };
      else apart.push(span);
    }
    return apart;
  }

  /** Masks a text. Returns it unchanged if there is nothing to mask. */
  text(text: string): string {
    const before = this.masked;
    const safe = this.whole(Buffer.from(text));
    return this.masked > before ? safe.toString() : text;
  }

  get masked(): number {
    let sum = 0;
    for (const count of this.#kinds.values()) sum += count;
    return sum;
  }

  get kinds(): MaskedKinds {
    return Object.fromEntries([...this.#kinds].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}

/** What to mask in a run: its secrets and, unless the caller keeps them, well-known credentials. */
export function maskingOf(secrets: readonly string[], keepCredentials = false): Masking {
  return { secrets: needlesOf(secrets), credentials: !keepCredentials };
}

/** The total number of masked ranges by kind. */
export function addedKinds(...all: readonly (MaskedKinds | undefined)[]): MaskedKinds {
  const sums = new Map<string, number>();
  for (const kinds of all) {
    for (const [kind, count] of Object.entries(kinds ?? {})) sums.set(kind, (sums.get(kind) ?? 0) + count);
  }
  return Object.fromEntries([...sums].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function isMasking(masking: readonly string[] | Needles | Masking): masking is Masking {
  return 'credentials' in masking;
}

/** The search for these values in all their forms. */
export function needlesOf(secrets: readonly string[]): Needles {
  return new Needles(secretForms(secrets), new Needles(secretValues(secrets)));
}

function joined(pieces: readonly Buffer[]): Buffer {
  return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
}

class DeclaredFinder implements Finder {
  readonly #needles: Needles;

  constructor(needles: Needles) {
    this.#needles = needles;
  }

  get spelt(): SpeltFinder | undefined {
    const { plain } = this.#needles;
    return plain && { finder: new DeclaredFinder(plain), longest: plain.longest };
  }

  find(bytes: Buffer, from: number): FoundSecret | undefined {
    const hit = this.#needles.find(bytes, from);
    return hit && { at: hit.at, end: hit.at + hit.length, kind: 'declared_secret' };
  }

  holdAt(bytes: Buffer, from: number): number {
    for (let at = Math.max(from, bytes.length - this.#needles.longest + 1); at < bytes.length; at++) {
      if (this.#needles.beginsAt(bytes, at)) return at;
    }
    return bytes.length;
  }
}

/** The first bytes of a credential reveal nothing. */
const FORM_BYTES = 4;
const NO_NEEDLES = new Needles([]);
