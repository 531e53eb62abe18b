import { createHash } from 'node:crypto';
import { closeSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { readChunk } from '../base/chunk.ts';

export interface ZipEntry {
  /** Relative, with `/` as the separator. */
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
}

/**
 * A zip of stored, uncompressed files with a fixed time. `open` returns a descriptor, which is closed after use. The
 * checksum of each file follows its bytes, so nothing is read twice.
 */
export function* zipOf<Entry extends ZipEntry>(
  entries: readonly Entry[],
  open: (entry: Entry) => number,
): Generator<Uint8Array, void, undefined> {
  const directory: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const name = Buffer.from(entry.name);
    const head = Buffer.concat([localHead(name.length), name]);
    yield head;
    const crc = yield* bytesOf(open(entry), entry);
    const tail = descriptor(crc, entry.bytes);
    yield tail;
    directory.push(centralHead(name.length, crc, entry.bytes, offset), name);
    offset += head.length + entry.bytes + tail.length;
  }
  const central = Buffer.concat(directory);
  yield central;
  yield ending(entries.length, central.length, offset);
}

/** The size of the archive, which is known before any file is read. */
export function zipSize(entries: readonly ZipEntry[]): number {
  const each = LOCAL_BYTES + DESCRIPTOR_BYTES + CENTRAL_BYTES;
  return entries.reduce((sum, { name, bytes }) => sum + each + 2 * Buffer.byteLength(name) + bytes, ENDING_BYTES);
}

/** Yields the bytes of an entry, and returns their checksum. Throws if the file has other bytes. */
function* bytesOf(fd: number, { bytes, sha256 }: ZipEntry): Generator<Uint8Array, number, undefined> {
  const hash = createHash('sha256');
  let crc = 0;
  let left = bytes;
  try {
    for (;;) {
      const chunk = Buffer.allocUnsafe(64 * 1024);
      const length = readChunk(fd, chunk);
      left -= length;
      const isChanged = length === 0 && (left > 0 || `sha256:${hash.digest('hex')}` !== sha256);
      if (left < 0 || isChanged) throw new Error('A file changed while it was archived.');
      if (length === 0) return crc;
      const piece = chunk.subarray(0, length);
      hash.update(piece);
      crc = crc32(piece, crc);
      yield piece;
    }
  } finally {
    closeSync(fd);
  }
}

const LOCAL_BYTES = 30;
const DESCRIPTOR_BYTES = 16;
const CENTRAL_BYTES = 46;
const ENDING_BYTES = 22;

/** Version 2.0, sizes in a descriptor after the bytes, names in UTF-8, stored, 1 January 1980. */
const COMMON = [20, 0x0808, 0, 0, 0x0021] as const;

function localHead(nameBytes: number): Buffer {
  const head = Buffer.alloc(LOCAL_BYTES);
  head.writeUInt32LE(0x04034b50, 0);
  COMMON.forEach((value, index) => head.writeUInt16LE(value, 4 + 2 * index));
  head.writeUInt16LE(nameBytes, 26);
  return head;
}

function descriptor(crc: number, bytes: number): Buffer {
  const tail = Buffer.alloc(DESCRIPTOR_BYTES);
  tail.writeUInt32LE(0x08074b50, 0);
  tail.writeUInt32LE(crc, 4);
  tail.writeUInt32LE(bytes, 8);
  tail.writeUInt32LE(bytes, 12);
  return tail;
}

function centralHead(nameBytes: number, crc: number, bytes: number, offset: number): Buffer {
  const head = Buffer.alloc(CENTRAL_BYTES);
  head.writeUInt32LE(0x02014b50, 0);
  head.writeUInt16LE(20, 4);
  COMMON.forEach((value, index) => head.writeUInt16LE(value, 6 + 2 * index));
  head.writeUInt32LE(crc, 16);
  head.writeUInt32LE(bytes, 20);
  head.writeUInt32LE(bytes, 24);
  head.writeUInt16LE(nameBytes, 28);
  head.writeUInt32LE(offset, 42);
  return head;
}

function ending(count: number, bytes: number, offset: number): Buffer {
  const end = Buffer.alloc(ENDING_BYTES);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(bytes, 12);
  end.writeUInt32LE(offset, 16);
  return end;
}
