import { closeSync, createReadStream } from 'node:fs';
import { hashInTurns } from '../base/file-hash.ts';
import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import { openRegularBelow } from '../base/regular.ts';
import type { SealedFile } from '../contracts/seal/index.ts';
import { archivePath, uniqueNames } from './file-names.ts';
import { zipOf, zipSize } from './zip.ts';

/** The headers of a download: a browser stores it, and never shows or runs it. */
export function downloadHeaders(name: string, mediaType: string, bytes: number): Readonly<Record<string, string>> {
  return {
    'content-type': mediaType,
    'content-length': String(bytes),
    'content-disposition': dispositionOf(name),
    'x-content-type-options': 'nosniff',
    'content-security-policy': "sandbox; default-src 'none'",
    'cache-control': 'private, no-store',
    'cross-origin-resource-policy': 'same-origin',
  };
}

/** RFC 6266: an ASCII name for old clients, and the name itself as in RFC 8187. */
function dispositionOf(name: string): string {
  const ascii = name.replace(/[^ !#-&(-+\--[\]-~]/g, '_').replace(/[%;]/g, '_');
  const encoded = encodeURIComponent(name).replace(
    /['()*!]/g,
    character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}

/** The bytes of an output file of a sealed run, if they are still the sealed ones. */
export async function outputStream(folder: string, file: SealedFile): Promise<ReadableStream<Uint8Array>> {
  return fileStream(await openSealed(folder, file), file.bytes);
}

/** Opens a file whose bytes are the sealed ones. */
async function openSealed(folder: string, { path: file, sha256 }: SealedFile): Promise<number> {
  const fd = openRegularBelow(folder, file);
  if (fd === undefined) throw gone(file);
  try {
    if ((await hashInTurns(fd)) !== sha256) throw gone(file);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** The first bytes of an open file, which is closed at the end. A file that grows must not exceed its stated length. */
export function fileStream(fd: number, bytes = Number.POSITIVE_INFINITY): ReadableStream<Uint8Array> {
  if (bytes === 0) {
    closeSync(fd);
    return new ReadableStream({ start: controller => controller.close() });
  }
  const stream = createReadStream('', { fd, start: 0, end: bytes - 1, autoClose: true });
  const pieces = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel() {
      stream.destroy();
    },
  });
}

function gone(file: string): Fault {
  return new Fault('output_gone', `${printable(nameOf(file))} is no longer there as the run left it.`);
}

const nameOf = (file: string): string => file.replace(/^output\//, '');

/**
 * All files of a run as one archive. The same files give the same bytes. Every file is compared with its seal before
 * the first byte is sent, so that a changed one can be named, and again while it is sent.
 */
export async function archiveOf(
  folder: string,
  files: readonly SealedFile[],
): Promise<{ readonly bytes: number; readonly stream: ReadableStream<Uint8Array> }> {
  const names = uniqueNames(files.map(({ path: file }) => archivePath(nameOf(file))));
  const entries = files.map((file, index) => ({
    name: names[index] as string,
    bytes: file.bytes,
    sha256: file.sha256,
    file,
  }));
  const bytes = zipSize(entries);
  if (bytes > ARCHIVE_BYTES_MAX || entries.length > ARCHIVE_FILES_MAX)
    throw new Fault('archive_too_large', 'The files are too large for one archive. Download them one by one.');
  for (const file of files) closeSync(await openSealed(folder, file));
  const pieces = zipOf(entries, ({ file }) => {
    const fd = openRegularBelow(folder, file.path);
    if (fd === undefined) throw gone(file.path);
    return fd;
  });
  return {
    bytes,
    stream: new ReadableStream({
      pull(controller) {
        const { done, value } = pieces.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel() {
        pieces.return();
      },
    }),
  };
}

/** A zip without extensions has 32-bit sizes and 16-bit counts. */
const ARCHIVE_BYTES_MAX = 2 ** 32 - 1;
const ARCHIVE_FILES_MAX = 65_534;
