import { readChunk } from './chunk.ts';

/** A line of a stream, without its line feed. `bytes` is absent if the line exceeds the size limit. */
export interface Line {
  readonly number: number;
  /** Valid only until the next line, because the buffer is reused. */
  readonly bytes?: Buffer;
  /** The line has no line feed because the stream ended. */
  readonly isCut?: true;
}

/**
 * Splits a stream into lines with one buffer, which never exceeds the longest allowed line. With `from` and `to` it reads a
 * range of a file, independent of the file position.
 */
export function* linesOf(
  fd: number,
  lineBytesMax: number,
  from?: number,
  to = Number.POSITIVE_INFINITY,
): Generator<Line> {
  let position = from;
  let buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, lineBytesMax + 1));
  let start = 0;
  let end = 0;
  /** No line feed remains before this offset. */
  let scanned = 0;
  let number = 1;
  let isSkipping = false;
  for (;;) {
    for (let feed = find(buffer, scanned, end); feed >= 0; feed = find(buffer, scanned, end)) {
      if (isSkipping) isSkipping = false;
      else yield { number, bytes: buffer.subarray(start, feed) };
      number++;
      start = feed + 1;
      scanned = start;
    }
    if (isSkipping) start = end;
    else if (end - start > lineBytesMax) {
      yield { number };
      isSkipping = true;
      start = end;
    }
    if (start > 0) {
      buffer.copyWithin(0, start, end);
      end -= start;
      start = 0;
    }
    scanned = end;
    if (end === buffer.length) buffer = grown(buffer, lineBytesMax + 1);
    const room = buffer.subarray(end, Math.min(buffer.length, end + to - (position ?? 0)));
    const length = room.length === 0 ? 0 : readChunk(fd, room, position);
    if (length === 0) break;
    if (position !== undefined) position += length;
    end += length;
  }
  if (end > 0 && !isSkipping) yield { number, bytes: buffer.subarray(0, end), isCut: true };
}

function find(buffer: Buffer, from: number, end: number): number {
  const feed = buffer.subarray(from, end).indexOf(LINE_FEED);
  return feed < 0 ? -1 : from + feed;
}

const LINE_FEED = 0x0a;
const CHUNK_BYTES = 256 * 1024;

function grown(buffer: Buffer, bytesMax: number): Buffer<ArrayBuffer> {
  const larger = Buffer.allocUnsafe(Math.min(2 * buffer.length, bytesMax));
  buffer.copy(larger);
  return larger;
}
