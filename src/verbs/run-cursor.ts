/**
 * A position in a run: how many journal lines and how many bytes of each stream a viewer has seen. It is the id of an
 * event: `12` after line 12, `3.4096` after line 3 and 4,096 bytes of the first stream.
 */
export interface RunCursor {
  readonly line: number;
  readonly offsets: readonly number[];
}

export const RUN_START: RunCursor = { line: 0, offsets: [] };

export function cursorText({ line, offsets }: RunCursor): string {
  let count = offsets.length;
  while (count > 0 && offsets[count - 1] === 0) count--;
  return count === 0 ? String(line) : `${line}.${offsets.slice(0, count).join('.')}`;
}

/** Undefined if the text is not a position. */
export function cursorOf(text: string): RunCursor | undefined {
  if (!/^\d{1,15}(?:\.\d{1,15}){0,2}$/.test(text)) return undefined;
  const [line = 0, ...offsets] = text.split('.').map(Number);
  return { line, offsets };
}

/** Whether a viewer at `one` has seen everything that a viewer at `other` has. */
export function isAtOrAfter(one: RunCursor, other: RunCursor): boolean {
  return one.line >= other.line && other.offsets.every((offset, index) => (one.offsets[index] ?? 0) >= offset);
}

/** A viewer there has seen everything that viewers at both positions have. */
export function furthest(one: RunCursor, other: RunCursor): RunCursor {
  const count = Math.max(one.offsets.length, other.offsets.length);
  const offsets = Array.from({ length: count }, (_, index) =>
    Math.max(one.offsets[index] ?? 0, other.offsets[index] ?? 0),
  );
  return { line: Math.max(one.line, other.line), offsets };
}
