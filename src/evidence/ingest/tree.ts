import { isUtf8 } from 'node:buffer';
import { closeSync, fstatSync, lstat, opendirSync, openSync, type Stats } from 'node:fs';
import { clip } from '../../base/clip.ts';
import { nameKey } from '../../base/path.ts';
import { printable } from '../../base/printable.ts';
import { artifactPathFault } from '../../contracts/script-result/index.ts';
import { below, FOLDER_FLAGS, isCode, scriptFault } from './held.ts';
import { type Breach, breach, type ReasonCode } from './reason.ts';
import { EVERYTHING, type Wanted } from './wanted.ts';

export interface IngestLimits {
  readonly filesMax: number;
  readonly bytesMax: number;
  readonly fileBytesMax: number;
  /** Files and folders together. */
  readonly entriesMax: number;
  /** Path segments, including `output`. */
  readonly depthMax: number;
}

/** A folder whose entries have all passed the checks. */
export interface Folder {
  readonly name: string;
  readonly path: string;
  readonly stat: Stats;
  readonly files: readonly FoundFile[];
  readonly folders: readonly Folder[];
}

export interface FoundFile {
  readonly name: string;
  readonly path: string;
  readonly stat: Stats;
}

/** Counts so far. After a breach they show how far the walk got. */
export interface IngestCounts {
  files: number;
  bytes: number;
  entries: number;
}

/**
 * Checks every entry of output/ before a byte is copied, so a hostile tree costs only a walk. Names are streamed: in
 * a folder with a million entries, the walk stops at the first entry over the limit.
 */
export class Walk {
  readonly seen: IngestCounts = { files: 0, bytes: 0, entries: 0 };
  readonly #limits: IngestLimits;
  readonly #signal: AbortSignal;
  /** The device of the work folder. Any other device is a mount, which may hang. */
  readonly #dev: number;
  readonly #keys = new Set<string>();

  constructor(limits: IngestLimits, dev: number, signal: AbortSignal) {
    this.#limits = limits;
    this.#dev = dev;
    this.#signal = signal;
  }

  /** Checks the wanted entries of the folder `name`; undefined if the folder does not exist. */
  async root(parent: number, name: string, wanted = EVERYTHING): Promise<Folder | Breach | undefined> {
    const [stat] = await lstatAll(parent, [name]);
    if (isMissing(stat)) return undefined;
    if (stat === undefined || stat instanceof Error) return breachFor(stat, name);
    return this.#kindBreach(name, stat, true) ?? this.#folder(parent, { name, path: name, key: name, stat, wanted }, 1);
  }

  async #folder(parent: number, entry: Entry, depth: number): Promise<Folder | Breach> {
    const { name, path, stat } = entry;
    let fd: number;
    try {
      fd = openSync(below(parent, name), FOLDER_FLAGS);
    } catch (error) {
      return breachFor(error, path);
    }
    try {
      const now = fstatSync(fd);
      if (now.ino !== stat.ino || now.dev !== stat.dev) return odd(path, 'was replaced with another folder');
      // A folder that can be opened but not searched fails only when its entries are read.
      const content = await this.#content(fd, entry, depth + 1).catch((error: unknown) => breachFor(error, path));
      if ('ok' in content) return content;
      const folders: Folder[] = [];
      for (const child of content.folders) {
        const folder = await this.#folder(fd, child, depth + 1);
        if ('ok' in folder) return folder;
        folders.push(folder);
      }
      return { name, path, stat, files: content.files, folders };
    } finally {
      closeSync(fd);
    }
  }

  async #content(fd: number, parent: Entry, depth: number): Promise<{ files: Entry[]; folders: Entry[] } | Breach> {
    const { isWhole, names: wanted } = parent.wanted;
    const files: Entry[] = [];
    const folders: Entry[] = [];
    // Wanted names are looked up one by one, so other entries cost nothing.
    for (const batch of isWhole ? namesIn(fd) : batchesOf(wanted.keys())) {
      const names: string[] = [];
      for (const name of batch) {
        const found = (isWhole ? this.#countBreach() : undefined) ?? this.#nameBreach(name, parent, depth);
        if (found) return found;
        names.push(name.toString('utf8'));
      }
      const stats = await lstatAll(fd, names);
      this.#signal.throwIfAborted();
      for (const [index, name] of names.entries()) {
        const stat = stats[index];
        if (!isWhole && isMissing(stat)) continue;
        const path = `${parent.path}/${name}`;
        if (stat === undefined || stat instanceof Error) return breachFor(stat, path);
        const entry = {
          name,
          path,
          key: `${parent.key}/${nameKey(name)}`,
          stat,
          wanted: (!isWhole && wanted.get(name)) || EVERYTHING,
        };
        const kind = this.#kindBreach(path, stat, false);
        if (kind) return kind;
        // Skip a folder where a file is wanted, and a file where a folder is.
        if (!isWhole && !isWantedAs(stat, entry.wanted)) continue;
        const found =
          (isWhole ? undefined : this.#countBreach()) ?? this.#collision(entry) ?? this.#sizeBreach(path, stat);
        if (found) return found;
        (stat.isFile() ? files : folders).push(entry);
      }
    }
    return { files, folders };
  }

  #countBreach(): Breach | undefined {
    const { entriesMax } = this.#limits;
    return ++this.seen.entries > entriesMax
      ? breach('artifact_limit_count', `more than ${entriesMax} entries`)
      : undefined;
  }

  #nameBreach(bytes: Buffer, parent: Entry, depth: number): Breach | undefined {
    const { depthMax } = this.#limits;
    if (!isUtf8(bytes)) return told('artifact_name_invalid', `${parent.path}/${bytes.toString('latin1')}`, 'not UTF-8');
    const name = bytes.toString('utf8');
    const path = `${parent.path}/${name}`;
    if (depth > depthMax) return told('artifact_limit_depth', path, `has more than ${depthMax} path segments`);
    const found = artifactPathFault(path);
    return found ? told('artifact_name_invalid', path, found) : undefined;
  }

  #collision({ path, key }: Entry): Breach | undefined {
    if (this.#keys.has(key))
      return told('artifact_collision', path, 'has the same name as another entry on some systems');
    this.#keys.add(key);
    return undefined;
  }

  #kindBreach(path: string, stat: Stats, isRoot: boolean): Breach | undefined {
    if (stat.dev !== this.#dev) return odd(path, 'is a mount');
    if (stat.isDirectory()) return undefined;
    if (isRoot) return odd(path, 'is not a folder');
    if (!stat.isFile()) return odd(path, 'is neither a file nor a folder');
    // A hard link may lead to an outside file that Proctor can read but the script cannot.
    return stat.nlink === 1 ? undefined : odd(path, 'has more than one hard link');
  }

  /** Counts the apparent size, because a sparse file takes no disk space until it is read. */
  #sizeBreach(path: string, stat: Stats): Breach | undefined {
    if (stat.isDirectory()) return undefined;
    const { filesMax, bytesMax, fileBytesMax } = this.#limits;
    if (++this.seen.files > filesMax) return breach('artifact_limit_count', `more than ${filesMax} files`);
    if (stat.size > fileBytesMax) return told('artifact_limit_file', path, `has ${stat.size} bytes`);
    this.seen.bytes += stat.size;
    if (this.seen.bytes > bytesMax) return breach('artifact_limit_total', `more than ${bytesMax} bytes`);
    return undefined;
  }
}

interface Entry extends FoundFile {
  /** The path as case-insensitive or normalising file systems see it. */
  readonly key: string;
  readonly wanted: Wanted;
}

function isWantedAs(stat: Stats, { isFile, isWhole, names }: Wanted): boolean {
  return stat.isFile() ? isFile : isWhole || names.size > 0;
}

function isMissing(stat: Stats | Error | undefined): boolean {
  return stat instanceof Error && isCode(stat, 'ENOENT');
}

function* namesIn(fd: number): Generator<Buffer[]> {
  // Read names as bytes: decoding would merge two names that are not UTF-8, and neither could be opened.
  const folder = opendirSync(below(fd, '.'), { encoding: 'buffer' as BufferEncoding, bufferSize: NAMES_PER_BATCH });
  try {
    for (let batch: Buffer[] = []; ; batch = []) {
      for (let entry = folder.readSync(); entry; entry = folder.readSync()) {
        if (batch.push(entry.name as unknown as Buffer) === NAMES_PER_BATCH) break;
      }
      if (batch.length > 0) yield batch;
      if (batch.length < NAMES_PER_BATCH) return;
    }
  } finally {
    folder.closeSync();
  }
}

function* batchesOf(names: Iterable<string>): Generator<Buffer[]> {
  const all = [...names].map(name => Buffer.from(name));
  for (let at = 0; at < all.length; at += NAMES_PER_BATCH) yield all.slice(at, at + NAMES_PER_BATCH);
}

/** Asynchronous, because lstat on a mount can hang and the caller's time limit must still apply. */
function lstatAll(fd: number, names: readonly string[]): Promise<readonly (Stats | Error)[]> {
  return new Promise(resolve => {
    const stats: (Stats | Error)[] = [];
    let missing = names.length;
    for (const [index, name] of names.entries()) {
      lstat(below(fd, name), (error, stat) => {
        stats[index] = error ?? stat;
        if (--missing === 0) resolve(stats);
      });
    }
  });
}

/** Returns a breach if the script is to blame, and throws the error otherwise. */
export function breachFor(error: unknown, path: string): Breach {
  const doing = scriptFault(error);
  if (doing === undefined) throw error;
  return odd(path, doing);
}

export function odd(path: string, what: string): Breach {
  return told('artifact_type_forbidden', path, what);
}

function told(code: ReasonCode, path: string, what: string): Breach {
  return breach(code, `${printable(clip(path, PATH_SHOWN_BYTES).text)} ${what}`);
}

const NAMES_PER_BATCH = 256;
const PATH_SHOWN_BYTES = 300;
