import { closeSync, fstatSync, readSync } from 'node:fs';
import { openRegularBelow } from '../../base/regular.ts';
import { wholeEnd } from '../step/stored-stream.ts';

/** A piece of a growing text, and the offsets at which it starts and ends. */
export interface TextPiece {
  readonly from: number;
  readonly end: number;
  readonly bytes: Buffer;
}

/**
 * Reads files that grow while a run is alive, as if they were one. A file is complete once the next one exists. Open
 * files stay readable after they are deleted.
 */
export class TextTail {
  readonly #folder: string;
  readonly #files: readonly string[];
  readonly #sealed: string | undefined;
  readonly #fds: number[] = [];
  #end = 0;

  /** `sealed` contains the same text from the start, once the run is sealed. */
  constructor(folder: string, files: readonly string[], sealed?: string) {
    this.#folder = folder;
    this.#files = files;
    this.#sealed = sealed;
  }

  /** The offset after the last piece. */
  get end(): number {
    return this.#end;
  }

  /** Whether only the sealed file can contain the text, if the program has ended. */
  get needsSealed(): boolean {
    return this.#sealed !== undefined && this.#fds.length === 0;
  }

  /** Whether all files are open and the last one has no room for more. */
  isFull(lastBytesMax: number): boolean {
    const fd = this.#fds[this.#files.length - 1];
    return fd !== undefined && fstatSync(fd).size >= lastBytesMax;
  }

  /** Opens the files that exist by now. */
  open(): void {
    while (this.#fds.length < this.#files.length) {
      const fd = openRegularBelow(this.#folder, this.#files[this.#fds.length] as string);
      if (fd === undefined) return;
      this.#fds.push(fd);
    }
  }

  /** Opens the sealed file instead if the run was sealed before the others could be opened. */
  openSealed(): void {
    this.open();
    const fd =
      this.#fds.length > 0 || this.#sealed === undefined ? undefined : openRegularBelow(this.#folder, this.#sealed);
    if (fd !== undefined) this.#fds.push(fd);
  }

  /** Returns the next piece of at most `bytesMax` bytes; undefined if there is none yet. */
  read(cut: CutPiece, bytesMax: number, isOver: boolean): TextPiece | undefined {
    if (!isOver) this.open();
    const piece = this.#piece(cut, this.#end, Number.POSITIVE_INFINITY, bytesMax, isOver);
    if (piece) this.#end = piece.end;
    return piece;
  }

  /** Reads pieces again, from one offset up to another. */
  *again(cut: CutPiece, from: number, to: number, bytesMax: number): Generator<TextPiece> {
    const last = Math.min(to, this.#end);
    for (let at = from; at < last; ) {
      const piece = this.#piece(cut, at, last, bytesMax, true);
      if (!piece) return;
      at = piece.end;
      yield piece;
    }
  }

  #piece(cut: CutPiece, from: number, to: number, bytesMax: number, isOver: boolean): TextPiece | undefined {
    const bytes = this.#bytesAt(from, Math.min(bytesMax, to - from));
    if (bytes.length === 0) return undefined;
    const length = cut(bytes, { isFull: bytes.length >= bytesMax, isOver });
    return length === 0 ? undefined : { from, end: from + length, bytes: bytes.subarray(0, length) };
  }

  #bytesAt(from: number, bytesMax: number): Buffer {
    const sizes = this.#fds.map(fd => fstatSync(fd).size);
    const length = Math.min(bytesMax, sizes.reduce((sum, size) => sum + size, 0) - from);
    if (length <= 0) return EMPTY;
    const bytes = Buffer.allocUnsafe(length);
    let filled = 0;
    let start = 0;
    for (const [index, fd] of this.#fds.entries()) {
      const size = sizes[index] as number;
      for (let at = from + filled - start; at >= 0 && at < size && filled < length; at = from + filled - start) {
        const read = readSync(fd, bytes, filled, Math.min(length - filled, size - at), at);
        if (read === 0) break;
        filled += read;
      }
      start += size;
    }
    return bytes.subarray(0, filled);
  }

  close(): void {
    for (const fd of this.#fds) closeSync(fd);
    this.#fds.length = 0;
  }
}

const EMPTY = Buffer.alloc(0);

/**
 * Decides how many bytes form a piece; 0 to wait for more. `isFull`: no more bytes fit into a piece. `isOver`: the file
 * does not grow any more.
 */
export type CutPiece = (bytes: Buffer, state: { readonly isFull: boolean; readonly isOver: boolean }) => number;

/** Ends a piece at a whole character. */
export const atCharacter: CutPiece = (bytes, { isOver }) => {
  const { length } = wholeEnd(bytes);
  return length === 0 && isOver ? bytes.length : length;
};

/** Ends a piece at a whole line. A line that does not fit into a piece is cut. */
export const atLine: CutPiece = (bytes, { isFull, isOver }) => {
  const feed = bytes.lastIndexOf(0x0a);
  if (feed >= 0) return feed + 1;
  return isFull || isOver ? bytes.length : 0;
};
