import type { KeptStream } from '../../contracts/capture.ts';
import type { StreamNote } from './capture-note.ts';

/**
 * Joins the kept head and tail of a stream, cut at whole characters, with a mark for the missing bytes. The stream
 * was masked on arrival, so no cut leaves part of a secret.
 */
export function storedStream({ head, tail, ...stream }: KeptStream): {
  readonly bytes: Uint8Array;
  readonly note: StreamNote;
} {
  const missing = stream.bytesTotal - head.length - tail.length;
  const isWhole = missing <= 0;
  const first = isWhole ? head : wholeEnd(head);
  const last = isWhole ? tail : wholeBeginning(tail);
  const bytesKept = first.length + last.length;
  const mark = isWhole ? '' : `\n[${stream.bytesTotal - bytesKept} bytes are missing here]\n`;
  return { bytes: Buffer.concat([first, Buffer.from(mark), last]), note: { ...stream, bytesKept } };
}

/** Drops a character that is cut off at the end. */
export function wholeEnd(bytes: Uint8Array): Uint8Array {
  for (let back = 1; back <= 4 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (isContinuation(byte)) continue;
    return lengthOf(byte) > back ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
}

function wholeBeginning(bytes: Uint8Array): Uint8Array {
  let at = 0;
  while (at < 3 && at < bytes.length && isContinuation(bytes[at] ?? 0)) at++;
  return bytes.subarray(at);
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

/** The length of a character that starts with this byte. */
function lengthOf(byte: number): number {
  if (byte >= 0xf0) return 4;
  if (byte >= 0xe0) return 3;
  return byte >= 0xc0 ? 2 : 1;
}
