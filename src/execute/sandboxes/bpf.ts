/** A classic BPF instruction with symbolic jump targets, or a label for the next instruction. */
export type BpfLine =
  | { readonly code: number; readonly k: number; readonly yes?: string; readonly no?: string }
  | { readonly label: string };

/** Assembles a filter. Jumps must go forward: the kernel accepts no others. */
export function assemble(lines: readonly BpfLine[]): Buffer {
  const places = new Map<string, number>();
  const instructions: Exclude<BpfLine, { label: string }>[] = [];
  for (const line of lines) {
    if ('label' in line) places.set(line.label, instructions.length);
    else instructions.push(line);
  }
  const distance = (to: string | undefined, from: number, max: number): number => {
    const steps = to === undefined ? 0 : (places.get(to) ?? -1) - from - 1;
    if (steps < 0 || steps > max) throw new Error(`No jump in the filter reaches "${to}"`);
    return steps;
  };
  const bytes = Buffer.alloc(BYTES * instructions.length);
  for (const [index, { code, k, yes, no }] of instructions.entries()) {
    const isFar = code === GO_TO;
    bytes.writeUInt16LE(code, BYTES * index);
    bytes.writeUInt8(isFar ? 0 : distance(yes, index, JUMP_MAX), BYTES * index + 2);
    bytes.writeUInt8(distance(no, index, JUMP_MAX), BYTES * index + 3);
    bytes.writeUInt32LE(isFar ? distance(yes, index, places.size + instructions.length) : k, BYTES * index + 4);
  }
  return bytes;
}

/** The instructions for values from `from` up to the next range. */
export interface Range {
  readonly from: number;
  readonly lines: readonly BpfLine[];
}

/**
 * Finds the range of the loaded value by binary search: eight comparisons for 200 ranges. The first range starts at 0.
 */
export function search(ranges: readonly Range[]): BpfLine[] {
  const middle = ranges.length >> 1;
  const right = ranges[middle];
  if (right === undefined || middle === 0) return ranges.flatMap(({ lines }) => lines);
  const name = `from ${right.from}`;
  return [fromOn(right.from, name), ...search(ranges.slice(0, middle)), label(name), ...search(ranges.slice(middle))];
}

export const label = (name: string): BpfLine => ({ label: name });
export const load = (offset: number): BpfLine => ({ code: 0x20, k: offset });
export const keep = (bits: number): BpfLine => ({ code: 0x54, k: bits });
export const end = (verdict: number): BpfLine => ({ code: 0x06, k: verdict });
export const goTo = (name: string): BpfLine => ({ code: GO_TO, k: 0, yes: name });
export const whenEqual = (value: number, yes: string): BpfLine => ({ code: 0x15, k: value, yes });
export const unless = (value: number, no: string): BpfLine => ({ code: 0x15, k: value, no });
export const whenAny = (bits: number, yes: string): BpfLine => ({ code: 0x45, k: bits, yes });
const fromOn = (value: number, yes: string): BpfLine => ({ code: 0x35, k: value, yes });

const GO_TO = 0x05;

/** `struct sock_filter`: two bytes of code, one byte per jump, four bytes of value. */
const BYTES = 8;
const JUMP_MAX = 255;
