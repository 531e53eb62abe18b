import { closeSync } from 'node:fs';
import { readChunk } from '../../base/chunk.ts';
import { Fault } from '../../base/fault.ts';
import { bytesHash } from '../../base/hash.ts';
import { printable } from '../../base/printable.ts';
import { FOLDER_BYTES_MAX, openPublished, pathsBelow, folderTooLarge } from '../../publish/folder-files.ts';
import { versionDigest } from '../../contracts/published-script/version-digest.ts';

/** A file to send to a server. */
interface FileToSend {
  readonly path: string;
  readonly isProgram: boolean;
  readonly bytes: Buffer<ArrayBuffer>;
}

/** A folder as a server gets it, and the digest that its version must have there. */
export interface FolderToSend {
  readonly files: readonly FileToSend[];
  readonly digest: string;
}

/** Reads a folder to publish it on a server. Refuses what the server would refuse because of names, links or sizes. */
export function folderToSend(folder: string): FolderToSend {
  let room = FOLDER_BYTES_MAX;
  const files = pathsBelow(folder).map(path => {
    // A form escapes these characters, so the server could not tell them from the escapes.
    if (/%(?:22|0a|0d)/i.test(path))
      throw new Fault('unfit_folder', `The folder cannot be published: ${printable(path)} has a "%" in its name.`);
    const file = fileToSend(folder, path, room);
    room -= file.bytes.length;
    return file;
  });
  const listed = files.map(({ path, isProgram, bytes }) => {
    const mode = isProgram ? ('755' as const) : ('644' as const);
    return { path, mode, sha256: bytesHash(bytes) };
  });
  return { files, digest: versionDigest(listed) };
}

function fileToSend(folder: string, path: string, room: number): FileToSend {
  const { fd, stat } = openPublished(folder, path);
  try {
    const pieces: Buffer[] = [];
    let bytes = 0;
    for (;;) {
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
      const length = readChunk(fd, chunk);
      if (length === 0) return { path, isProgram: (stat.mode & 0o100) !== 0, bytes: Buffer.concat(pieces) };
      bytes += length;
      if (bytes > room) throw folderTooLarge();
      pieces.push(chunk.subarray(0, length));
    }
  } finally {
    closeSync(fd);
  }
}

const CHUNK_BYTES = 256 * 1024;
