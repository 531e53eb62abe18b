/**
 * Splits a stream of chunks into lines, each as soon as it is complete. A line above the size limit is reported without its
 * content.
 */
export class LineCutter {
  readonly #lineBytesMax: number;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #isSkipping = false;

  constructor(lineBytesMax: number) {
    this.#lineBytesMax = lineBytesMax;
  }

  /** Calls `line` with each line that ends in this chunk, without its line feed, or with null if it was too long. */
  take(piece: Buffer, line: (bytes: Buffer | null) => void): void {
    let from = 0;
    for (let feed = piece.indexOf(LINE_FEED); feed >= 0; feed = piece.indexOf(LINE_FEED, from)) {
      const bytes = piece.subarray(from, feed);
      if (this.#isFresh() && bytes.length <= this.#lineBytesMax) line(bytes);
      else {
        this.#hold(bytes);
        this.#pass(line);
      }
      from = feed + 1;
    }
    if (from < piece.length) this.#hold(piece.subarray(from));
  }

  /**
   * The first byte and the last bytes of the incomplete last line; undefined if it is empty or already too long. Callers use
   * this after every chunk, so it never copies the whole line.
   */
  rest(bytesMax: number): { readonly first: number; readonly tail: Buffer } | undefined {
    const first = this.#held[0]?.[0];
    if (first === undefined) return undefined;
    let from = this.#held.length;
    for (let bytes = 0; from > 0 && bytes < bytesMax; ) bytes += (this.#held[--from] as Buffer).length;
    return { first, tail: Buffer.concat(this.#held.slice(from)).subarray(-bytesMax) };
  }

  /** Ends the stream. The last line needs no line feed. */
  end(line: (bytes: Buffer | null) => void): void {
    if (this.#isSkipping || this.#heldBytes > 0) this.#pass(line);
  }

  /** Whether nothing is buffered. This is the usual case, because most lines start and end in one chunk. */
  #isFresh(): boolean {
    return this.#heldBytes === 0 && !this.#isSkipping;
  }

  #hold(bytes: Buffer): void {
    if (this.#isSkipping) return;
    if (this.#heldBytes + bytes.length > this.#lineBytesMax) {
      this.#isSkipping = true;
      this.#held = [];
      this.#heldBytes = 0;
      return;
    }
    if (bytes.length === 0) return;
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    // Each chunk has overhead, and a line may arrive byte by byte.
    if (this.#held.length > PIECES_MAX) this.#held = [Buffer.concat(this.#held, this.#heldBytes)];
  }

  #pass(line: (bytes: Buffer | null) => void): void {
    const whole = this.#held.length === 1 ? (this.#held[0] as Buffer) : Buffer.concat(this.#held, this.#heldBytes);
    const bytes = this.#isSkipping ? null : whole;
    this.#held = [];
    this.#heldBytes = 0;
    this.#isSkipping = false;
    line(bytes);
  }
}

const LINE_FEED = 0x0a;
const PIECES_MAX = 1_024;
