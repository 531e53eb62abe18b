/** Every form of a credential has so many letters in a row. */
export const RUN_BYTES = 16;

/**
 * Looks for sixteen letters of words or of base64 in a row, at some gigabytes per second: no text of a program may take much
 * longer because it could hold a credential. A loop of JavaScript looks at one byte at a time and takes five times as long.
 */
export class RunScanner {
  readonly #bytes: Buffer;
  #start = 0;
  #end = 0;
  /** Where something is found soon, little was copied in vain. */
  #blockBytes = BLOCK_BYTES_MIN;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Where the next sixteen begin at `from` or later, or -1. Asked with growing places. */
  next(from: number): number {
    if (this.#bytes.length < SMALL_BYTES) return nextRun(this.#bytes, from);
    const { memory, scan } = scanner();
    for (let at = from; at + RUN_BYTES <= this.#bytes.length; at = this.#end - RUN_BYTES + 1) {
      if (at < this.#start || at + RUN_BYTES > this.#end) this.#load(at, memory);
      const found = scan(at - this.#start, this.#end - this.#start);
      if (found >= 0) return this.#start + found;
      if (this.#end === this.#bytes.length) return -1;
    }
    return -1;
  }

  #load(at: number, memory: Buffer): void {
    this.#start = at;
    this.#end = Math.min(this.#bytes.length, at + this.#blockBytes);
    this.#blockBytes = Math.min(BLOCK_BYTES_MAX, 4 * this.#blockBytes);
    const length = this.#bytes.copy(memory, 0, at, this.#end);
    // It reads up to four vectors beyond.
    memory.fill(0, length, length + 64);
  }
}

/** The same, for texts that are not worth the program. */
function nextRun(bytes: Buffer, from: number): number {
  let begin = from;
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (((LOW[byte & 15] as number) & (HIGH[byte >> 4] as number)) === 0) begin = at + 1;
    else if (at - begin + 1 === RUN_BYTES) return begin;
  }
  return -1;
}

/** What of the engine is used; not every library of types knows it. */
interface Engine {
  readonly Module: new (program: Uint8Array) => object;
  readonly Instance: new (
    module: object,
  ) => { readonly exports: { readonly m: { readonly buffer: ArrayBuffer }; readonly f: Scanner['scan'] } };
}

interface Scanner {
  readonly memory: Buffer;
  readonly scan: (from: number, to: number) => number;
}

let made: Scanner | undefined;

function scanner(): Scanner {
  if (made) return made;
  const { WebAssembly } = globalThis as unknown as { WebAssembly: Engine };
  const { m, f } = new WebAssembly.Instance(new WebAssembly.Module(program())).exports;
  made = { memory: Buffer.from(m.buffer), scan: f };
  return made;
}

/** Together with the 64 bytes beyond, less than the two pages of the memory. */
const BLOCK_BYTES_MAX = 100_000;
const BLOCK_BYTES_MIN = 1_024;
const SMALL_BYTES = 4_096;

/**
 * WebAssembly with vectors of 16 bytes, four of which make a mask of 64 bits: bit n says whether byte n is a letter. Halving
 * shifts leave the bits at which sixteen letters begin.
 *
 *     for (at = from; at < to; at += 49) {
 *       mask = letters(at) | letters(at + 16) << 16 | letters(at + 32) << 32 | letters(at + 48) << 48
 *       for (shift of [1, 2, 4, 8]) mask &= mask >> shift
 *       if (mask != 0) return at + trailingZeros(mask)
 *     }
 *     return -1
 */
function program(): Uint8Array {
  const joinedAt = (offset: number): number[] => [...letters(offset), 0x42, ...signed(offset), 0x86, 0x84];
  const body = [
    [1, 1, 0x7e], // one local, the mask
    [0x03, 0x40], // loop
    [0x20, 0, 0x20, 1, 0x49, 0x04, 0x40], // if at < to
    letters(0),
    ...[16, 32, 48].map(joinedAt), // shl, or
    [0x21, 2],
    ...[1, 2, 4, 8].map(shift => [0x20, 2, 0x20, 2, 0x42, shift, 0x88, 0x83, 0x21, 2]), // shr_u, and
    [0x20, 2, 0x50, 0x45, 0x04, 0x40, 0x20, 0, 0x20, 2, 0x7a, 0xa7, 0x6a, 0x0f, 0x0b], // if mask: return at + ctz
    [0x20, 0, 0x41, 49, 0x6a, 0x21, 0, 0x0c, 1, 0x0b], // at += 49, again
    [0x0b, 0x41, 0x7f, 0x0b], // return -1
  ].flat();
  const code = [...unsigned(body.length), ...body];
  return Uint8Array.from([
    ...MAGIC,
    ...section(1, [1, 0x60, 2, 0x7f, 0x7f, 1, 0x7f]), // type: two numbers in, one out
    ...section(3, [1, 0]),
    ...section(5, [1, 0, 2]), // memory of two pages
    ...section(7, [2, 1, 0x6d, 2, 0, 1, 0x66, 0, 0]), // exports m and f
    ...section(10, [1, ...code]),
  ]);
}

const MAGIC = [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0];

/** A mask of which of the 16 bytes at an offset are letters: two tables, by the halves of a byte, have a bit in common. */
function letters(offset: number): number[] {
  const load = [0x20, 0, 0xfd, 0x00, 0, ...unsigned(offset)];
  const half = [0xfd, 0x0c, ...Array.from({ length: 16 }, () => 0x0f)];
  const low = [0xfd, 0x0c, ...LOW, ...load, ...half, 0xfd, 0x4e, 0xfd, 0x0e]; // swizzle(LOW, byte & 15)
  const high = [0xfd, 0x0c, ...HIGH, ...load, 0x41, 4, 0xfd, 0x6d, 0x01, 0xfd, 0x0e]; // swizzle(HIGH, byte >> 4)
  const zero = [0xfd, 0x0c, ...Array.from({ length: 16 }, () => 0)];
  return [...low, ...high, 0xfd, 0x4e, ...zero, 0xfd, 0x24, 0xfd, 0x64, 0x01, 0xad]; // and, ne, bitmask, extend
}

/** `+-/`, digits and `=`, letters up to o, capitals from P and `_`, small letters from p. */
const HIGH = [0, 0, 1, 2, 4, 8, 4, 16, 0, 0, 0, 0, 0, 0, 0, 0];
const LOW = HIGH.map((_, low) => {
  const isSign = low === 0xb || low === 0xd || low === 0xf;
  const isDigit = low <= 9 || low === 0xd;
  return (
    Number(isSign) |
    (Number(isDigit) << 1) |
    (Number(low > 0) << 2) |
    (Number(low <= 0xa || low === 0xf) << 3) |
    (Number(low <= 0xa) << 4)
  );
});

function section(id: number, content: readonly number[]): number[] {
  return [id, ...unsigned(content.length), ...content];
}

function unsigned(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];
}

/** A small number in the form that has a sign. */
function signed(value: number): number[] {
  return value < 0x40 ? [value] : [(value & 0x7f) | 0x80, 0];
}
