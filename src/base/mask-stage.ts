import { MASK } from './credential-bytes.ts';
import type { Finder, FoundSecret } from './finder.ts';
import { type Spelling, spellingsOf } from './spellings.ts';

/** From one place up to another. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** One pass over the bytes, as they are written and as they are meant. */
export class Stage {
  readonly #finders: readonly Finder[];
  readonly #note: (kind: string) => void;
  /** So much of the beginning of something may be shown. */
  readonly #harmlessBytes: number;
  #held: Buffer = Buffer.alloc(0);
  /** How much of what is held was passed on before, and is there only to be looked back at. */
  #passed = 0;
  /** So many bytes must be held before it is worth looking again. */
  #enough = 0;

  constructor(finders: readonly Finder[], note: (kind: string) => void, harmlessBytes: number) {
    this.#finders = finders;
    this.#harmlessBytes = harmlessBytes;
    this.#note = note;
  }

  take(chunk: Buffer): Buffer[] {
    if (chunk.length < LARGE_BYTES)
      return this.#takeAll(this.#held.length > 0 ? Buffer.concat([this.#held, chunk]) : chunk);
    // Do not copy a large chunk: after its first bytes, everything held is part of it.
    const border = chunk.subarray(0, BORDER_BYTES);
    const first = this.#takeAll(Buffer.concat([this.#held, border]));
    const isWithin = this.#held.length <= BORDER_BYTES;
    const rest = isWithin
      ? chunk.subarray(BORDER_BYTES - this.#held.length)
      : Buffer.concat([this.#held, chunk.subarray(BORDER_BYTES)]);
    return [...first, ...this.#takeAll(rest)];
  }

  /** Takes the held bytes together with those that follow. */
  #takeAll(all: Buffer): Buffer[] {
    if (all.length < this.#enough) {
      this.#held = all;
      return [];
    }
    const { bytes, end } = this.#mask(all, this.#passed, true);
    const from = Math.max(0, end - BACK_BYTES);
    this.#held = Buffer.from(all.subarray(from));
    this.#passed = end - from;
    // A long beginning that grows by single bytes is not read again for each of them.
    const open = all.length - end;
    this.#enough = open > OPEN_SMALL ? this.#passed + 2 * open : 0;
    return bytes.length > 0 ? [bytes] : [];
  }

  end(): Buffer {
    const { bytes } = this.#mask(this.#held, this.#passed, false);
    this.#held = NOTHING;
    this.#passed = 0;
    this.#enough = 0;
    return bytes;
  }

  cut(bytes: Buffer): Buffer {
    const { bytes: shown, end } = this.#mask(bytes, 0, true);
    const open = bytes.subarray(end);
    return open.length > 0 && open.length <= this.#harmlessBytes ? Buffer.concat([shown, open]) : shown;
  }

  whole(bytes: Buffer): Buffer {
    return this.#mask(bytes, 0, false).bytes;
  }

  spans(bytes: Buffer): Span[] {
    const spans: Span[] = [];
    this.#mask(bytes, 0, false, (_, from, to) => void spans.push({ from, to }));
    return spans;
  }

  /** Everything up to where something might begin that is not whole yet: it may be longer than one that is. */
  #mask(
    all: Buffer,
    start: number,
    canGrow: boolean,
    onFound: (kind: string, at: number, end: number) => void = this.#note,
  ): { bytes: Buffer; end: number } {
    const readers = this.#finders.flatMap(finder => readersOf(finder, all, canGrow));
    const parts: Buffer[] = [];
    let from = start;
    let search = start;
    for (;;) {
      const found = firstOf(readers, search);
      const hold = readers.reduce((least, reader) => Math.min(least, reader.holdAt(search)), all.length);
      if (!found || found.at >= hold) {
        parts.push(all.subarray(from, hold));
        return { bytes: parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts), end: hold };
      }
      parts.push(all.subarray(from, found.at));
      if (found.kind === undefined) return { bytes: Buffer.concat(parts), end: found.at };
      parts.push(MASK_BYTES);
      onFound(found.kind, found.at, found.end);
      from = found.end;
      search = from;
    }
  }
}

function readersOf(finder: Finder, all: Buffer, canGrow: boolean): Reader[] {
  const { spelt } = finder;
  const spellings = spelt ? spellingsOf(all, spelt.longest) : [];
  return [
    new Reader(finder, all, canGrow),
    ...spellings.map(spelling => new Reader(spelt?.finder ?? finder, all, canGrow, spelling)),
  ];
}

function firstOf(readers: readonly Reader[], from: number): FoundSecret | undefined {
  let first: FoundSecret | undefined;
  for (const reader of readers) {
    const found = reader.find(from);
    if (found && (!first || found.at < first.at || (found.at === first.at && found.end > first.end))) first = found;
  }
  return first;
}

/** Reads bytes in one spelling, and answers in places of what is written. Each answer is kept until it is passed. */
class Reader {
  readonly #finder: Finder;
  readonly #bytes: Buffer;
  readonly #canGrow: boolean;
  readonly #spelling: Spelling | undefined;
  #found: FoundSecret | undefined;
  #isOver = false;
  #hold = -1;

  constructor(finder: Finder, written: Buffer, canGrow: boolean, spelling?: Spelling) {
    this.#finder = finder;
    this.#bytes = spelling?.bytes ?? written;
    this.#canGrow = canGrow;
    this.#spelling = spelling;
    if (!canGrow) this.#hold = written.length;
  }

  find(from: number): FoundSecret | undefined {
    if (this.#isOver || (this.#found && this.#found.at >= from)) return this.#found;
    const found = this.#finder.find(this.#bytes, this.#meantAt(from), this.#canGrow);
    this.#isOver = found === undefined;
    this.#found = found && this.#written(found);
    return this.#found;
  }

  holdAt(from: number): number {
    if (this.#hold >= from) return this.#hold;
    const at = this.#finder.holdAt(this.#bytes, this.#meantAt(from));
    const written = this.#spelling?.writtenAt(at) ?? at;
    this.#hold = Math.max(from, Math.min(written, this.#spelling?.openAt ?? written));
    return this.#hold;
  }

  #meantAt(from: number): number {
    return this.#spelling?.meantAt(from) ?? from;
  }

  #written({ at, end, kind }: FoundSecret): FoundSecret {
    if (!this.#spelling) return { at, end, kind };
    return { at: this.#spelling.writtenAt(at), end: this.#spelling.writtenEnd(end), kind };
  }
}

const NOTHING: Buffer = Buffer.alloc(0);
const MASK_BYTES = Buffer.from(MASK);
/** The finders look back this far, also for first letters that were passed on. */
const BACK_BYTES = 64;
const OPEN_SMALL = 1_024;
/** Smaller chunks are joined with the held bytes. Of larger ones, only the first bytes are. */
const LARGE_BYTES = 8 * 1024;
const BORDER_BYTES = 128;
