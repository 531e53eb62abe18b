import { closeSync } from 'node:fs';
import path from 'node:path';
import { entryBytes, entryHash, type PackFile } from '../evidence/pack-file.ts';
import { FOLDER } from '../evidence/pack-layout.ts';
import { tooLarge } from '../base/json.ts';
import { compare } from '../contracts/check.ts';
import { isLedger } from './chain.ts';
import { foreignIn } from './foreign.ts';
import { changed, changeOf, type Failure, hashFile, openInside, readWhole, type Source } from './source.ts';
import { type Tree, walk } from './walk.ts';

/** Where the files of a run are looked at: in a folder, or in a pack, which is never unpacked for it. */
export interface Shelf {
  readonly ok: true;
  /** What verdicts call it. */
  readonly input: string;
  /** Where it lies, if it is a folder. */
  readonly folder?: string;
  readonly tree: Tree;
  /** Files that are no documents of ours, whatever their name. */
  readonly isForeign: (file: string) => boolean;
  /** What verdicts call a file of it. */
  readonly nameOf: (file: string) => string;
  /** All bytes of a file, if they are not more than that. */
  readonly read: (file: string, bytesMax: number) => Source;
  /** The content hash of a file of any size; undefined if it cannot be read. */
  readonly hash: (file: string) => string | undefined;
  /** Opens a file to be read from one place to another. The caller closes it. */
  readonly open: (file: string) => OpenFile | Failure;
}

interface OpenFile {
  readonly ok: true;
  readonly fd: number;
  readonly size: number;
  /** Where its bytes are, if it is not all of what is open. */
  readonly span?: { readonly from: number; readonly to: number };
  /** Whether it is another than it was when it was opened. */
  changed(): Failure | undefined;
  close(): void;
}

export function folderShelf(folder: string): Shelf | Failure {
  const tree = walk(folder);
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
        changed: () => changeOf(opened, isLedger(file)),
        close: () => closeSync(fd),
      };
    },
  };
}

/** The folder of the run in a pack, but for entries that are not `known`: of them enough was said. */
export function packShelf(input: string, pack: PackFile, isKnown: (file: string) => boolean): Shelf {
  const files = new Map<string, number>();
  for (const [name, { size }] of pack.entries) {
    const file = name.slice(FOLDER.length);
    if (name.startsWith(FOLDER) && isKnown(file)) files.set(file, size);
  }
  const entryOf = (file: string) => pack.entries.get(FOLDER + file);
  return {
    ok: true,
    input,
    tree: { ok: true, files, paths: [...files.keys()].sort(compare), odd: [] },
    isForeign: foreignIn(false),
    nameOf: file => path.join(input, FOLDER, file),
    read: (file, bytesMax) => {
      const entry = entryOf(file);
      if (!entry) return changed;
      const bytes = entryBytes(pack, FOLDER + file, bytesMax);
      if (!bytes) return { ok: false, outcome: 'refused', code: 'too_large', message: tooLarge(bytesMax) };
      return bytes.length === entry.size ? { ok: true, bytes } : changed;
    },
    hash: file => {
      const entry = entryOf(file);
      return entry && entryHash(pack, entry);
    },
    open: file => {
      const entry = entryOf(file);
      if (!entry) return changed;
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
