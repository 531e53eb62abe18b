import { closeSync, fstatSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { syncFolder } from '../../base/atomic.ts';
import { Fault, fullDisk } from '../../base/fault.ts';
import { compare } from '../../contracts/check.ts';
import { systemCodeOf, holdWorkFolder } from './held.ts';
import { type Breach, breach } from './reason.ts';
import { holdsFiles, type StoredFile, storeTree } from './store.ts';
import { type Folder, type IngestCounts, Walk } from './tree.ts';
import { EVERYTHING, wantedTree } from './wanted.ts';
import { within } from './within.ts';

export interface OutputLimits {
  readonly filesMax: number;
  readonly bytesMax: number;
  /** Default: `bytesMax`. */
  readonly fileBytesMax?: number;
  /** Files and folders together. */
  readonly entriesMax?: number;
  /** Path segments, including `output`. Never more than the contract allows. */
  readonly depthMax?: number;
  readonly wallMs?: number;
}

export type OutputReading =
  | {
      readonly ok: true;
      /** Sorted by path, in UTF-16 code units. */
      readonly files: readonly StoredFile[];
      readonly bytesTotal: number;
      readonly notes: { readonly hidden: readonly string[]; readonly emptyFoldersDropped: number };
    }
  | (Breach & { readonly seen: { readonly files: number; readonly bytes: number } });

/**
 * Copies the files that an ended script left in output/ to the folder `target`: all of them, or none. Follows no link,
 * waits for no FIFO and trusts nothing that the script made. Removes `target` first, because it may come from an
 * interrupted ingestion. If there are no files, there is no `target`.
 *
 * `wanted` lists the only files to copy, as paths below output/. A path that ends with a slash is a folder with
 * everything in it. Ignores other entries. Missing files are not an error.
 */
export async function ingestOutput(
  workFolder: string,
  target: string,
  limits: OutputLimits,
  wanted?: readonly string[],
): Promise<OutputReading> {
  const partial = `${target}.partial`;
  try {
    rmSync(partial, REMOVE);
    rmSync(target, REMOVE);
    const reading = await within(limits.wallMs ?? WALL_MS, signal =>
      ingest(workFolder, partial, limits, wanted, signal),
    );
    if (reading.ok && reading.files.length > 0) {
      renameSync(partial, target);
      syncFolder(path.dirname(target));
    } else rmSync(partial, REMOVE);
    return reading;
  } catch (cause) {
    forget(partial);
    forget(target);
    if (cause instanceof Fault || systemCodeOf(cause) === '') throw cause;
    throw new Fault('ingest_io', `The output could not be stored${fullDisk(cause)}.`, { cause });
  }
}

async function ingest(
  workFolder: string,
  partial: string,
  limits: OutputLimits,
  wanted: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<OutputReading> {
  const held = holdWorkFolder(workFolder);
  if (typeof held === 'string') return { ...breach('artifact_type_forbidden', held), seen: { files: 0, bytes: 0 } };
  try {
    const walk = new Walk(filledIn(limits), fstatSync(held).dev, signal);
    const tree = await walk.root(held, 'output', wanted ? wantedTree(wanted) : EVERYTHING);
    if (tree === undefined) return reading([], undefined);
    if ('ok' in tree) return { ...tree, seen: counted(walk.seen) };
    if (!holdsFiles(tree)) return reading([], tree);
    const files = await storeTree(tree, held, partial, signal);
    return 'ok' in files ? { ...files, seen: counted(walk.seen) } : reading(files, tree);
  } finally {
    closeSync(held);
  }
}

function filledIn({ filesMax, bytesMax, fileBytesMax, entriesMax, depthMax }: OutputLimits) {
  return {
    filesMax,
    bytesMax,
    fileBytesMax: fileBytesMax ?? bytesMax,
    entriesMax: entriesMax ?? Math.max(ENTRIES_MIN, 2 * filesMax),
    depthMax: Math.min(depthMax ?? DEPTH_MAX, DEPTH_MAX),
  };
}

function reading(stored: readonly StoredFile[], tree: Folder | undefined): OutputReading {
  const files = stored.toSorted((a, b) => compare(a.path, b.path));
  const hidden = files.filter(file => file.path.includes('/.')).map(file => file.path);
  return {
    ok: true,
    files,
    bytesTotal: files.reduce((total, { bytes }) => total + bytes, 0),
    notes: { hidden: hidden.slice(0, HIDDEN_MAX), emptyFoldersDropped: tree ? emptyFolders(tree) : 0 },
  };
}

function emptyFolders({ folders }: Folder): number {
  return folders.reduce((sum, folder) => sum + (holdsFiles(folder) ? 0 : 1) + emptyFolders(folder), 0);
}

function counted({ files, bytes }: IngestCounts): { files: number; bytes: number } {
  return { files, bytes };
}

/** Best effort: the next ingestion removes the folder anyway, and the first fault matters more. */
function forget(folder: string): void {
  try {
    rmSync(folder, REMOVE);
  } catch (error) {
    if (systemCodeOf(error) === '') throw error;
  }
}

const REMOVE = { recursive: true, force: true } as const;

const WALL_MS = 30_000;
/** A few small files may use many folders. */
const ENTRIES_MIN = 2_000;
/** The contract of script results allows this many path segments. */
const DEPTH_MAX = 16;
const HIDDEN_MAX = 50;
