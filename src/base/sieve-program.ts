import { again, againIf, type Code, i32, local, loop, moduleOf, v128, when } from './assembler.ts';

/** Offsets in the program's memory, in bytes. */
export const LAYOUT = {
  /** Two tables of 16 entries for each byte of a window, indexed by the low and the high half of the byte. */
  halves: 0,
  /** For each hash of a window, its possible offsets in a text: one bit for each of eight. */
  fitting: 65_536,
  /** The same for the other function, so that two sieves can be used in turn. */
  sampled: 131_072,
  block: 196_608,
  places: 327_680,
} as const;

/** The sieve looks for this many bytes of each text. */
export const WINDOW_BYTES = 4;
/** A window begins at one of the first eight bytes of its text. Each offset has one bit. */
export const OFFSETS = 8;
export const HASHES = 65_536;
/** The output has room for a window at every byte of a block, four bytes each. */
export const BLOCK_BYTES_MAX = 65_536;

/** The hash of the four bytes of a window. The program computes the same. */
export function hashOf(window: number): number {
  return Math.imul(window, HASH_FACTOR) >>> HASH_SHIFT;
}

/** Writes the position of each window, times 256, plus the bits of its offsets. Returns the end of the output. */
type Sift = (from: number, to: number, out: number) => number;

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly fitting: Sift;
  readonly sampled: Sift;
}

export interface SieveProgram {
  readonly memory: Buffer;
  /** The same memory as numbers of four bytes. */
  readonly words: Int32Array;
  /** Finds one window of each text, at any byte. */
  readonly fitting: Sift;
  /** Finds eight windows of each text in a row, at every eighth byte. */
  readonly sampled: Sift;
}

let made: SieveProgram | undefined;

export function sieveProgram(): SieveProgram {
  if (made) return made;
  const { WebAssembly } = globalThis as unknown as { WebAssembly: Engine };
  const { memory, fitting, sampled } = new WebAssembly.Instance(new WebAssembly.Module(assembled())).exports;
  made = { memory: Buffer.from(memory.buffer), words: new Int32Array(memory.buffer), fitting, sampled };
  return made;
}

/** The part of the WebAssembly API that is used here, which not every type library declares. */
interface Engine {
  readonly Module: new (program: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: Exports };
}

function assembled(): Uint8Array {
  return moduleOf(PAGES, {
    fitting: { numbers: 3, vectors: LAST - TABLES, body: fitting() },
    sampled: { numbers: 3, vectors: 0, body: sampled() },
  });
}

/**
 * Every text of eleven bytes or more has a window that begins at a multiple of eight, so the loop skips all other places.
 *
 *     for (window = from; window < to; window += 8)
 *       if (bits = offsets[hash(window)]) *out++ = window << 8 | bits
 *     return out
 */
function sampled(): Code[] {
  return [
    loop(
      [local.get(AT), local.get(TO), i32.lessUnsigned],
      when(noted(AT, LAYOUT.sampled), [local.get(AT), i32.const(OFFSETS), i32.add, local.set(AT), again(1)]),
    ),
    local.get(OUT),
  ];
}

/**
 * The Teddy algorithm of Hyperscan. For each place in a window, two tables map the halves of a byte to eight bits: one for each
 * group of windows that has such a byte there. A bit that is set for all four places marks a candidate. Its hash decides.
 *
 *     for (at = from; at < to; at += 16) {
 *       maybe = fits(0, at - 3) & fits(1, at - 2) & fits(2, at - 1) & fits(3, at)
 *       for (lane of maybe != 0) {
 *         window = at - 3 + lane
 *         if (bits = offsets[hash(window)]) *out++ = window << 8 | bits
 *       }
 *     }
 *     return out
 */
function fitting(): Code[] {
  const tables = Array.from({ length: 2 * WINDOW_BYTES }, (_, table) => [
    [i32.const(LAYOUT.halves), v128.load(16 * table), local.set(TABLES + table)],
  ]);
  const lanes = [
    [local.get(MAYBE), v128.const(EACH(0)), v128.notEqual8, v128.bitmask8, local.set(LANES)],
    loop(
      [local.get(AT), local.get(LANES), i32.ctz, i32.add, i32.const(WINDOW_BYTES - 1), i32.sub, local.set(WINDOW)],
      noted(WINDOW, LAYOUT.fitting),
      [local.get(LANES), local.get(LANES), i32.const(1), i32.sub, i32.and, local.tee(LANES), againIf(0)],
    ),
  ];
  return [
    tables,
    loop(
      [local.get(AT), local.get(TO), i32.lessUnsigned],
      when(
        [fitsAll(), local.tee(MAYBE), v128.anyTrue, when(...lanes)],
        [local.get(AT), i32.const(16), i32.add, local.set(AT), again(1)],
      ),
    ),
    local.get(OUT),
  ];
}

/** Writes the window at a position to the output if its hash is known. */
function noted(place: number, table: number): Code {
  return [
    [local.get(place), i32.load, i32.const(HASH_FACTOR), i32.mul, i32.const(HASH_SHIFT), i32.shrUnsigned],
    [i32.load8(table), local.tee(BITS)],
    when(
      [local.get(OUT), local.get(place), i32.const(OFFSETS), i32.shl, local.get(BITS), i32.or, i32.store],
      [local.get(OUT), i32.const(4), i32.add, local.set(OUT)],
    ),
  ];
}

/** The groups that fit all places of a window that ends in this vector. The vector before has the first bytes of some. */
function fitsAll(): Code {
  const halves = [
    [local.get(AT), v128.load(0), local.tee(LOW), i32.const(4), v128.shrUnsigned16, v128.const(EACH(15)), v128.and],
    [local.set(HIGH), local.get(LOW), v128.const(EACH(15)), v128.and, local.set(LOW)],
  ];
  const fits = (place: number): Code => [
    [local.get(TABLES + 2 * place), local.get(LOW), v128.swizzle],
    [local.get(TABLES + 2 * place + 1), local.get(HIGH), v128.swizzle, v128.and],
  ];
  const last = WINDOW_BYTES - 1;
  const moved = Array.from({ length: last }, (_, place) => [
    [fits(place), local.set(FITS), local.get(BEFORE + place), local.get(FITS), v128.window(16 - last + place)],
    [v128.and, local.get(FITS), local.set(BEFORE + place)],
  ]);
  return [halves, fits(last), moved];
}

const EACH = (value: number): number[] => Array.from({ length: 16 }, () => value);

const HASH_FACTOR = 0x27d4eb2d;
const HASH_SHIFT = 32 - Math.log2(HASHES);
/** Pages of 64 KiB. */
const PAGES = 10;

/** The indexes of local variables: three parameters, three numbers, then vectors. */
const AT = 0;
const TO = 1;
const OUT = 2;
const LANES = 3;
const WINDOW = 4;
const BITS = 5;
const TABLES = 6;
const LOW = TABLES + 2 * WINDOW_BYTES;
const HIGH = LOW + 1;
const FITS = HIGH + 1;
const MAYBE = FITS + 1;
const BEFORE = MAYBE + 1;
const LAST = BEFORE + WINDOW_BYTES;
