import { CREDENTIAL_FINDERS } from './credential-finder.ts';
import type { Finder, FoundSecret, SpeltFinder } from './finder.ts';
import { Needles } from './needles.ts';
import { secretForms, secretValues } from './secret-forms.ts';
import { type Span, Stage } from './mask-stage.ts';

/** What is looked for: values that are known, and whether everything that has the form of a credential is masked, too. */
export interface Masking {
  readonly secrets: readonly string[] | Needles;
  readonly credentials: boolean;
}

/** How many ranges were masked of each kind: `declared_secret`, or the kind of a well-known credential. */
export type MaskedKinds = Readonly<Record<string, number>>;

/**
 * Masks what must not be stored or shown. Everything that a program or an agent says passes through here, as a stream or
 * as a whole; a stream is masked in the same way wherever the borders of its chunks are. Declared secrets come first, in
 * all their usual forms: the first that stands there, of those that begin together the longest.
 */
export class Masker {
  readonly #stages: readonly Stage[];
  readonly #kinds = new Map<string, number>();

  /** Many streams with the same secrets share what `needlesOf` made of them. */
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

  /** The same in pieces: large chunks are not copied. */
  pieces(chunk: Buffer): readonly Buffer[] {
    return this.#stages.reduce<readonly Buffer[]>((all, stage) => all.flatMap(bytes => stage.take(bytes)), [chunk]);
  }

  /** What was held back, once nothing more can follow it. */
  end(): Buffer {
    return this.#stages.reduce((bytes, stage) => {
      const taken = bytes.length > 0 ? stage.take(bytes) : [];
      return joined([...taken, stage.end()]);
    }, Buffer.alloc(0) as Buffer);
  }

  /** All the bytes of something that is no stream. */
  whole(bytes: Buffer): Buffer {
    return this.#stages.reduce((safe, stage) => stage.whole(safe), bytes);
  }

  /** All the bytes of something that broke off: its end may be the beginning of a secret, and is then left out for ever. */
  cut(bytes: Buffer): Buffer {
    return this.#stages.reduce((safe, stage) => stage.cut(safe), bytes);
  }

  /** Where the whole bytes would be masked, for those who put them together from pieces. Those that overlap are one. */
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

  /** The same of a text. What has nothing to mask is returned as it is. */
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

/** What is masked in a run: its secrets always, well-known credentials unless its caller wants to keep them. */
export function maskingOf(secrets: readonly string[], keepCredentials = false): Masking {
  return { secrets: needlesOf(secrets), credentials: !keepCredentials };
}

/** The sums of several. */
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

/** What to look for, where these values must not be seen. */
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

/** The first letters of a form of credentials tell nothing. */
const FORM_BYTES = 4;
const NO_NEEDLES = new Needles([]);
