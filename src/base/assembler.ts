/** A small assembler for WebAssembly. Short names follow the specification. */
export type Code = number | readonly Code[];

export const local = {
  get: (index: number): Code => [0x20, index],
  set: (index: number): Code => [0x21, index],
  tee: (index: number): Code => [0x22, index],
};

export const i32 = {
  const: (value: number): Code => [0x41, signed(value)],
  load: [0x28, 0, 0],
  load8: (offset: number): Code => [0x2d, 0, unsigned(offset)],
  store: [0x36, 0, 0],
  ctz: 0x68,
  eqz: 0x45,
  lessUnsigned: 0x49,
  add: 0x6a,
  sub: 0x6b,
  mul: 0x6c,
  and: 0x71,
  or: 0x72,
  shl: 0x74,
  shrUnsigned: 0x76,
} as const;

/** Vectors of 16 bytes. */
export const v128 = {
  load: (offset: number): Code => [0xfd, 0x00, 0, unsigned(offset)],
  const: (bytes: readonly number[]): Code => [0xfd, 0x0c, bytes],
  /** A shuffle: 16 consecutive bytes of the 32 in two vectors. */
  window: (from: number): Code => [0xfd, 0x0d, Array.from({ length: 16 }, (_, index) => from + index)],
  /** Each byte of the second vector selects a byte of the first. */
  swizzle: [0xfd, 0x0e],
  and: [0xfd, 0x4e],
  anyTrue: [0xfd, 0x53],
  notEqual8: [0xfd, 0x24],
  bitmask8: [0xfd, 0x64],
  shrUnsigned16: [0xfd, 0x8d, 0x01],
} as const;

export const loop = (...body: readonly Code[]): Code => [0x03, 0x40, body, END];
export const when = (...body: readonly Code[]): Code => [0x04, 0x40, body, END];
/** Jumps to the start of the loop `depth` blocks further out. */
export const again = (depth: number): Code => [0x0c, depth];
export const againIf = (depth: number): Code => [0x0d, depth];

/** A function from three numbers to a number, with additional local numbers and vectors. */
export interface Function3 {
  readonly numbers: number;
  readonly vectors: number;
  readonly body: readonly Code[];
}

/** A module that exports its memory as `memory` and its functions by name. */
export function moduleOf(pages: number, functions: Readonly<Record<string, Function3>>): Uint8Array {
  const all = Object.entries(functions);
  const exported = all.map(([name], index) => [nameOf(name), 0, index]);
  const codes = all.map(([, { numbers, vectors, body }]) => {
    const code = flat([2, unsigned(numbers), I32, unsigned(vectors), V128, body, END]);
    return [unsigned(code.length), code];
  });
  return Uint8Array.from(
    flat([
      MAGIC,
      section(1, [1, 0x60, 3, I32, I32, I32, 1, I32]),
      section(3, [all.length, all.map(() => 0)]),
      section(5, [1, 0, unsigned(pages)]),
      section(7, [1 + all.length, nameOf('memory'), 2, 0, exported]),
      section(10, [all.length, codes]),
    ]),
  );
}

const END = 0x0b;
const I32 = 0x7f;
const V128 = 0x7b;
const MAGIC = [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0];

function section(id: number, content: Code): Code {
  const bytes = flat([content]);
  return [id, unsigned(bytes.length), bytes];
}

function nameOf(text: string): Code {
  return [text.length, [...Buffer.from(text)]];
}

function flat(code: readonly Code[]): number[] {
  return code.flatMap(one => (typeof one === 'number' ? [one] : flat(one)));
}

/** LEB128: seven bits per byte. */
function unsigned(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];
}

function signed(value: number): number[] {
  const isLast = value >= -0x40 && value < 0x40;
  return isLast ? [value & 0x7f] : [(value & 0x7f) | 0x80, ...signed(value >> 7)];
}
