import { closeSync } from 'node:fs';
import path from 'node:path';
import { entryBytes, entryHash, type PackFile } from '../evidence/pack/pack-file.ts';
import { FOLDER } from '../evidence/pack/pack-layout.ts';
import { tooLarge } from '../base/json.ts';
import { compare } from '../contracts/check.ts';
import { isLedger } from './chain.ts';
import { foreignIn } from './foreign.ts';
import {
  FILE_CHANGED,
  fileChange,
  type Failure,
  hashFile,
  openInside,
  readWhole,
  type DocumentSource,
} from './source.ts';
import { type Tree, walkFolder } from './walk.ts';

/** A source of files: a folder, or a pack that is read in place. */
export interface FileSource {
  readonly ok: true;
  /** The name in verdicts. */
  readonly input: string;
  /** Undefined for a pack. */
  readonly folder?: string;
  readonly tree: Tree;
  /** Files that never count as documents, whatever their name. */
  readonly isForeign: (file: string) => boolean;
  /** The name of a file in verdicts. */
  readonly nameOf: (file: string) => string;
  /** Reads a whole file of at most `bytesMax` bytes. */
  readonly read: (file: string, bytesMax: number) => DocumentSource;
  /** The hash of a file of any size; undefined if it cannot be read. */
  readonly hash: (file: string) => string | undefined;
  /** Opens a file. The caller closes it. */
  readonly open: (file: string) => OpenFile | Failure;
}

interface OpenFile {
  readonly ok: true;
  readonly fd: number;
  readonly size: number;
  /** The range of the file in `fd`; absent if the file is all of it. */
  readonly span?: { readonly from: number; readonly to: number };
  /** The failure if the file changed since it was opened. */
  changed(): Failure | undefined;
  close(): void;
}

export function folderSource(folder: string): FileSource | Failure {
  const tree = walkFolder(folder);
  if (!tree.ok) return tree;
  const nameOf = (file: string): string => path.join(folder, file);
  return {
    ok: true,
    input: folder,
    folder,
    tree,
    isForeign: foreignIn(path.basename(path.resolve(folder)) === 'evidence'),
    nameOf,
    read: (file, bytesMax) => readWhole(openInside(folder, file), bytesMax),
    hash: file => hashFile(openInside(folder, file)),
    open: file => {
      const opened = openInside(folder, file);
      if (!opened.ok) return opened;
      const { fd, stat } = opened;
      return {
        ok: true,
        fd,
        size: stat.size,
        changed: () => fileChange(opened, isLedger(file)),
        close: () => closeSync(fd),
      };
    },
  };
}

/** A pack's run folder, without entries that are already reported. */
export function packSource(input: string, pack: PackFile, isKnown: (file: string) => boolean): FileSource {
  const files = new Map<string, number>();
  for (const [name, { size }] of pack.entries) {
    const file = name.slice(FOLDER.length);
    if (name.startsWith(FOLDER) && isKnown(file)) files.set(file, size);
  }
  const entryOf = (file: string) => pack.entries.get(FOLDER + file);
  return {
    ok: true,
    input,
    tree: { ok: true, files, paths: [...files.keys()].sort(compare), odd: [], ofServers: [] },
    isForeign: foreignIn(false),
    nameOf: file => path.join(input, FOLDER, file),
    read: (file, bytesMax) => {
      const entry = entryOf(file);
      if (!entry) return FILE_CHANGED;
      const bytes = entryBytes(pack, FOLDER + file, bytesMax);
      if (!bytes) return { ok: false, outcome: 'refused', code: 'too_large', message: tooLarge(bytesMax) };
      return bytes.length === entry.size ? { ok: true, bytes } : FILE_CHANGED;
    },
    hash: file => {
      const entry = entryOf(file);
      return entry && entryHash(pack, entry);
    },
    open: file => {
      const entry = entryOf(file);
      if (!entry) return FILE_CHANGED;
      const { at: from, size } = entry;
      return {
        ok: true,
        fd: pack.fd,
        size,
        span: { from, to: from + size },
        changed: () => undefined,
        close: () => {},
      };
    },
  };
}
