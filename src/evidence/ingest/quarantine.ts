import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, opendir, readlink, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { writeAtomic } from '../../base/atomic.ts';
import { canonicalize } from '../../base/canonical.ts';
import { clip } from '../../base/clip.ts';
import { Fault } from '../../base/fault.ts';
import { bytesHash } from '../../base/hash.ts';
import { Masker, type Masking } from '../../base/masker.ts';
import { printable } from '../../base/printable.ts';
import { systemCodeOf, FILE_FLAGS, FOLDER_FLAGS } from './held.ts';
import { within } from './within.ts';

/** What Proctor kept of a rejected output tree. */
export interface Quarantine {
  readonly entries: number;
  readonly bytes: number;
  /** Every entry of the tree is at least listed. */
  readonly complete: boolean;
}

/**
 * Keeps rejected output as `0001.bin` and so on, with an index.json, so that admins can find out what the script did.
 * Uses no name that the script chose, follows no link, reads no file with a second hard link, and masks secrets. The
 * script cannot make it throw, but a full disk can.
 */
export async function quarantineOutput(
  workFolder: string,
  target: string,
  masking: readonly string[] | Masking = [],
): Promise<Quarantine> {
  try {
    await rm(target, { recursive: true, force: true });
    await mkdir(target, { mode: 0o700 });
    const collected = new Collection(target, masking);
    return collected.finish(await isDone(signal => collected.start(workFolder, signal)));
  } catch (cause) {
    if (systemCodeOf(cause) === '' && !(cause instanceof Fault)) throw cause;
    await rm(target, { recursive: true, force: true }).catch(() => undefined);
    throw new Fault('ingest_io', 'The output could not be quarantined.', { cause });
  }
}

/** False if the time ran out, for example on a mount that never answers. Keeps the entries collected by then. */
async function isDone(work: (signal: AbortSignal) => Promise<void>): Promise<boolean> {
  try {
    await within(WALL_MS, work);
    return true;
  } catch (error) {
    if (error instanceof Fault && error.code === 'ingest_slow') return false;
    throw error;
  }
}

/** An entry of index.json. */
interface Listed {
  readonly name: string;
  readonly kind: string;
  /** The file that contains the bytes; absent if `left_out` says why there is none. */
  readonly file?: string;
  readonly left_out?: string;
  readonly bytes?: number;
  readonly sha256?: string;
  readonly link_text?: string;
}

class Collection {
  readonly #target: string;
  readonly #masker: Masker;
  readonly #listed: Listed[] = [];
  #bytes = 0;
  #complete = true;
  #dev = 0;

  constructor(target: string, masking: readonly string[] | Masking) {
    this.#target = target;
    this.#masker = new Masker(masking);
  }

  async start(workFolder: string, signal: AbortSignal): Promise<void> {
    const held = await opened(workFolder, FOLDER_FLAGS);
    if (!held) {
      this.#list('', { kind: 'the work folder', left_out: 'could not be opened' });
      return;
    }
    try {
      this.#dev = (await held.stat()).dev;
      await this.#entry(held, Buffer.from('output'), '', 1, signal);
    } finally {
      await held.close();
    }
  }

  finish(isDone: boolean): Quarantine {
    const entries = this.#listed;
    const complete = isDone && this.#complete;
    const index = { complete, masked: this.#masker.masked, entries };
    writeAtomic(path.join(this.#target, 'index.json'), canonicalize(index));
    return { entries: entries.length, bytes: this.#bytes, complete };
  }

  async #entry(parent: FileHandle, name: Buffer, above: string, depth: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const place = Buffer.concat([Buffer.from(`/proc/self/fd/${parent.fd}/`), name]);
    const shown = above === '' ? this.#shown(name) : `${above}/${this.#shown(name)}`;
    const stat = await lstat(place).catch(() => undefined);
    if (!stat) {
      if (depth > 1) this.#list(shown, { kind: 'unknown', left_out: 'could not be inspected' });
      return;
    }
    if (stat.dev !== this.#dev) this.#list(shown, { kind: 'a mount' });
    else if (stat.isSymbolicLink()) this.#list(shown, { kind: 'a link', link_text: await this.#linkText(place) });
    else if (stat.isFile()) await this.#file(place, shown, stat);
    else if (stat.isDirectory()) await this.#folder(place, shown, depth, signal);
    else this.#list(shown, { kind: kindOf(stat) });
  }

  async #folder(place: Buffer, shown: string, depth: number, signal: AbortSignal): Promise<void> {
    const folder = depth < DEPTH_MAX ? await opened(place, FOLDER_FLAGS) : undefined;
    if (!folder) {
      this.#complete = false;
      this.#list(shown, { kind: 'a folder', left_out: depth < DEPTH_MAX ? 'could not be opened' : 'too deep' });
      return;
    }
    try {
      const names = await opendir(`/proc/self/fd/${folder.fd}`, { encoding: 'buffer' as BufferEncoding });
      let isEmpty = true;
      for await (const { name } of names) {
        isEmpty = false;
        if (this.#listed.length >= ENTRIES_MAX) {
          this.#complete = false;
          break;
        }
        await this.#entry(folder, name as unknown as Buffer, shown, depth + 1, signal);
      }
      if (isEmpty) this.#list(shown, { kind: 'a folder', left_out: 'empty' });
    } finally {
      await folder.close();
    }
  }

  async #file(place: Buffer, shown: string, { nlink, size }: Stats): Promise<void> {
    const kind = 'a file';
    if (nlink !== 1) return this.#list(shown, { kind, bytes: size, left_out: 'has more than one hard link' });
    if (size > BYTES_MAX - this.#bytes) return this.#list(shown, { kind, bytes: size, left_out: 'too large' });
    const found = await readWhole(place, size);
    if (!found) return this.#list(shown, { kind, bytes: size, left_out: 'could not be read' });
    if (this.#listed.length >= ENTRIES_MAX) return this.#list(shown, { kind });
    const bytes = this.#masker.whole(found);
    // A mask may be longer than the secret.
    if (bytes.length > BYTES_MAX - this.#bytes) return this.#list(shown, { kind, bytes: size, left_out: 'too large' });
    const file = `${String(this.#listed.length + 1).padStart(4, '0')}.bin`;
    await writeFile(path.join(this.#target, file), bytes, { mode: 0o600, flag: 'wx' });
    this.#bytes += bytes.length;
    this.#list(shown, { kind, file, bytes: bytes.length, sha256: bytesHash(bytes) });
  }

  #list(name: string, about: Omit<Listed, 'name'>): void {
    if (this.#listed.length >= ENTRIES_MAX) {
      this.#complete = false;
      return;
    }
    // Joined names can form a secret that none of them contains.
    const safe = this.#masker.whole(Buffer.from(name)).toString('utf8');
    this.#listed.push({ name: clip(safe, NAME_BYTES_MAX).text, ...about });
  }

  async #linkText(place: Buffer): Promise<string> {
    const text = await readlink(place, { encoding: 'buffer' }).catch(() => undefined);
    return text ? this.#shown(text) : 'could not be read';
  }

  /** Masks before clipping and escaping, because both could hide a secret from the masker. */
  #shown(name: Buffer): string {
    return printable(clip(this.#masker.whole(name).toString('utf8'), NAME_BYTES_MAX).text);
  }
}

/** Undefined if the file cannot be opened. The quarantine continues, whatever the reason. */
async function opened(place: string | Buffer, flags: number): Promise<FileHandle | undefined> {
  return open(place, flags).catch(() => undefined);
}

async function readWhole(place: Buffer, size: number): Promise<Buffer | undefined> {
  const handle = await opened(place, FILE_FLAGS);
  if (!handle) return undefined;
  try {
    const stat = await handle.stat();
    if (!stat.isFile() || stat.nlink !== 1 || stat.size !== size) return undefined;
    const buffer = Buffer.allocUnsafe(size + 1);
    let total = 0;
    for (let length = -1; length !== 0 && total <= size; total += length) {
      length = (await handle.read(buffer, total, size + 1 - total, null)).bytesRead;
    }
    return total === size ? buffer.subarray(0, size) : undefined;
  } catch {
    return undefined;
  } finally {
    await handle.close();
  }
}

function kindOf(stat: Stats): string {
  const type = stat.mode & constants.S_IFMT;
  return KINDS.find(([mode]) => mode === type)?.[1] ?? 'unknown';
}

const KINDS: readonly (readonly [number, string])[] = [
  [constants.S_IFIFO, 'a FIFO'],
  [constants.S_IFSOCK, 'a socket'],
  [constants.S_IFCHR, 'a device'],
  [constants.S_IFBLK, 'a device'],
];

const ENTRIES_MAX = 1_000;
const BYTES_MAX = 10 * 1024 * 1024;
const DEPTH_MAX = 64;
const NAME_BYTES_MAX = 1_000;
const WALL_MS = 30_000;
