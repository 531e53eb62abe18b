import { bytesHash } from './hash.ts';

/**
 * One canonical archive format: ustar, regular files, fixed time, owner and mode. A pax record before the header contains a
 * path that is too long for ustar or not ASCII. The same files give the same bytes on every machine.
 */
export const TAR_BLOCK_BYTES = 512;

/** Two empty blocks, and nothing after them. */
export const TAR_END = Buffer.alloc(2 * TAR_BLOCK_BYTES);

/** The largest size in eleven octal digits. */
export const TAR_FILE_BYTES_MAX = 8 ** 11 - 1;

/** The longest path that common systems accept. */
export const TAR_PATH_BYTES_MAX = 4_096;

/** The headers before the bytes of a file. */
export function tarHead(path: string, size: number): Buffer {
  const [prefix, name] = splitPath(path) ?? [];
  if (name !== undefined) return header({ prefix, name, size, type: '0' });
  const record = pathRecord(path);
  return Buffer.concat([
    header({ name: 'pax/path', size: record.length, type: 'x' }),
    record,
    Buffer.alloc(tarPadding(record.length)),
    // A reader without pax support still extracts one file per entry.
    header({ name: `long/${bytesHash(path).slice('sha256:'.length)}`, size, type: '0' }),
  ]);
}

/** The number of zero bytes after a file. */
export function tarPadding(size: number): number {
  return (TAR_BLOCK_BYTES - (size % TAR_BLOCK_BYTES)) % TAR_BLOCK_BYTES;
}

/** The start and end of each header field. */
export const TAR_FIELDS = {
  name: [0, 100],
  rights: [100, 124],
  size: [124, 136],
  time: [136, 148],
  checksum: [148, 156],
  type: [156, 157],
  magic: [257, 265],
  owner: [265, 345],
  prefix: [345, 500],
} as const;

/** The checksum of a header, computed with spaces in its field. */
export function tarChecksum(block: Buffer): string {
  const [from, to] = TAR_FIELDS.checksum;
  let sum = (to - from) * 0x20;
  for (let index = 0; index < from; index++) sum += block[index] as number;
  for (let index = to; index < block.length; index++) sum += block[index] as number;
  return `${octal(sum, 6)}\0 `;
}

interface Header {
  readonly prefix?: string | undefined;
  readonly name: string;
  readonly size: number;
  readonly type: '0' | 'x';
}

function header({ prefix = '', name, size, type }: Header): Buffer {
  const block = Buffer.alloc(TAR_BLOCK_BYTES);
  block.write(name, TAR_FIELDS.name[0], 'latin1');
  block.write('0000644\x000000000\x000000000\0', TAR_FIELDS.rights[0], 'latin1');
  block.write(`${octal(size, 11)}\0`, TAR_FIELDS.size[0], 'latin1');
  block.write(`${octal(0, 11)}\0`, TAR_FIELDS.time[0], 'latin1');
  block.write(type, TAR_FIELDS.type[0], 'latin1');
  block.write('ustar\x0000', TAR_FIELDS.magic[0], 'latin1');
  block.write('0000000\x000000000\0', DEVICE, 'latin1');
  block.write(prefix, TAR_FIELDS.prefix[0], 'latin1');
  block.write(tarChecksum(block), TAR_FIELDS.checksum[0], 'latin1');
  return block;
}

/** After the two owner names, which stay empty. */
const DEVICE = 329;

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0');
}

/** Splits a path into the ustar prefix and name, at the first slash where both fit; undefined if none does. */
function splitPath(path: string): readonly [string, string] | undefined {
  if (!/^[ -~]+$/.test(path)) return undefined;
  if (path.length <= NAME_BYTES_MAX) return ['', path];
  const cut = path.indexOf('/', path.length - NAME_BYTES_MAX - 1);
  if (cut < 1 || cut > PREFIX_BYTES_MAX || cut === path.length - 1) return undefined;
  return [path.slice(0, cut), path.slice(cut + 1)];
}

const NAME_BYTES_MAX = 100;
const PREFIX_BYTES_MAX = 155;

/** `27 path=…` and a line feed. The number is the length of the whole record, including itself. */
function pathRecord(path: string): Buffer {
  const rest = Buffer.from(` path=${path}\n`);
  let length = rest.length + 1;
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
  return Buffer.concat([Buffer.from(String(length)), rest]);
}
