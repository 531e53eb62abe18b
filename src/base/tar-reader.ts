import { isUtf8 } from 'node:buffer';
import { readChunk } from './chunk.ts';
import { TAR_BLOCK_BYTES, TAR_END, TAR_FIELDS, TAR_PATH_BYTES_MAX, tarChecksum, tarHead, tarPadding } from './tar.ts';

/** A file in an archive. */
export interface TarEntry {
  readonly path: string;
  readonly size: number;
  /** Where its bytes begin. */
  readonly at: number;
}

/** A difference from the archive that Proctor would write. */
export interface TarFault {
  readonly fault: 'link' | 'kind' | 'meta' | 'form';
  /** The entry, if its name is readable. */
  readonly path: string;
  /** A predicate: "is a link". */
  readonly what: string;
  /** The rest of the archive cannot be read. */
  readonly isLast?: true;
}

/**
 * Reads the headers of an archive and skips its files, in constant memory. It accepts exactly the bytes that `tarHead` writes:
 * it writes each header again and compares. So every byte outside the files has only one valid value.
 */
export function* readTar(fd: number, bytes: number): Generator<TarEntry | TarFault> {
  for (let at = 0; ; ) {
    const block = bytesAt(fd, at, TAR_BLOCK_BYTES);
    if (block.length < TAR_BLOCK_BYTES) {
      yield broken('', 'ends without the two empty blocks of an archive');
      return;
    }
    if (isEmpty(block)) {
      const isEnd = bytes === at + TAR_END.length && isEmpty(bytesAt(fd, at, TAR_END.length));
      if (!isEnd) yield broken('', 'does not end with two empty blocks and nothing after them');
      return;
    }
    const head = readHead(fd, at, block);
    if ('fault' in head) {
      yield head;
      return;
    }
    const { path, size, start, type } = head;
    const next = start + size + tarPadding(size);
    if (next + TAR_END.length > bytes) {
      yield broken(path, 'states a size beyond the end of the archive');
      return;
    }
    if (LINKS.has(type)) yield { fault: 'link', path, what: 'is a link' };
    else if (type !== '0') yield { fault: 'kind', path, what: `is ${KINDS[type] ?? 'not a regular file'}` };
    else {
      yield* doubts(bytesAt(fd, at, start - at), path, size);
      yield { path, size, at: start };
    }
    if (!isEmpty(bytesAt(fd, start + size, next - start - size))) {
      yield { fault: 'form', path, what: 'is followed by padding that is not zero' };
    }
    at = next;
  }
}

interface Head {
  readonly path: string;
  readonly size: number;
  readonly type: string;
  /** Where the bytes of the file begin. */
  readonly start: number;
}

/** Reads a header, even if Proctor would write it differently. */
function readHead(fd: number, at: number, block: Buffer): Head | TarFault {
  const plain = readBlock(block);
  if ('fault' in plain || plain.type !== 'x') return 'fault' in plain ? plain : { ...plain, start: at + block.length };
  if (plain.size > RECORD_BYTES_MAX) return broken(plain.path, 'is an extended header that is too long');
  const record = bytesAt(fd, at + block.length, plain.size);
  const path = isUtf8(record) ? /^\d+ path=([^\n\0]+)\n$/.exec(record.toString())?.[1] : undefined;
  if (path === undefined) return broken(plain.path, 'is an extended header that is not a single path');
  const behind = at + block.length + plain.size + tarPadding(plain.size);
  const second = bytesAt(fd, behind, TAR_BLOCK_BYTES);
  if (second.length < TAR_BLOCK_BYTES) return broken(path, 'has no header');
  const head = readBlock(second);
  return 'fault' in head ? head : { ...head, path, start: behind + TAR_BLOCK_BYTES };
}

const RECORD_BYTES_MAX = TAR_PATH_BYTES_MAX + 16;

function readBlock(block: Buffer): Omit<Head, 'start'> | TarFault {
  const field = (name: keyof typeof TAR_FIELDS): string => block.toString('latin1', ...TAR_FIELDS[name]);
  const [prefix, name] = [field('prefix'), field('name')].map(text => text.replace(/\0.*$/s, '')) as [string, string];
  const path = prefix === '' ? name : `${prefix}/${name}`;
  if (field('checksum') !== tarChecksum(block)) return broken(path, 'has a header whose checksum is wrong');
  if (field('magic') !== 'ustar\x0000') return broken(path, 'has a header that is not ustar');
  const [, digits] = /^([0-7]{11})\0$/.exec(field('size')) ?? [];
  if (digits === undefined) return broken(path, 'does not state its size as eleven octal digits');
  return { path, size: Number.parseInt(digits, 8), type: field('type') };
}

/** How a header differs from the one that Proctor writes. */
function* doubts(head: Buffer, path: string, size: number): Generator<TarFault> {
  const wanted = tarHead(path, size);
  if (head.equals(wanted)) return;
  const [is, must] = [head, wanted].map(bytes => bytes.subarray(-TAR_BLOCK_BYTES)) as [Buffer, Buffer];
  const differs = ([from, to]: readonly [number, number]): boolean =>
    !is.subarray(from, to).equals(must.subarray(from, to));
  const { rights, time, owner } = TAR_FIELDS;
  const isMeta = head.length === wanted.length && [rights, time, owner].some(differs);
  yield isMeta
    ? { fault: 'meta', path, what: 'has an unexpected time, owner or mode' }
    : { fault: 'form', path, what: 'has a header that is not in canonical form' };
}

const LINKS: ReadonlySet<string> = new Set(['1', '2']);

const KINDS: Readonly<Record<string, string>> = {
  '3': 'a device',
  '4': 'a device',
  '5': 'a folder, which is not stored',
  '6': 'a FIFO',
  '7': 'a file of a special kind',
  S: 'a sparse file',
  g: 'a global header',
  L: 'a long name in another format',
  K: 'a long name in another format',
};

function broken(path: string, what: string): TarFault {
  return { fault: 'form', path, what, isLast: true };
}

function isEmpty(bytes: Buffer): boolean {
  return bytes.every(byte => byte === 0);
}

/** Up to `length` bytes. */
function bytesAt(fd: number, at: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  let total = 0;
  for (let read = -1; read !== 0 && total < length; total += read)
    read = readChunk(fd, bytes.subarray(total), at + total);
  return bytes.subarray(0, total);
}
