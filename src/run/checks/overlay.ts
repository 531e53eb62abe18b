import { createHash } from 'node:crypto';
import { constants, closeSync, fstatSync, lstatSync, openSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { counted } from '../../base/counted.ts';
import { Fault } from '../../base/fault.ts';
import { contentHash, bytesHash } from '../../base/hash.ts';
import { unsafePath } from '../../base/path.ts';
import type { Clone } from '../../execute/worktree/clone.ts';
import { isGitName } from '../../execute/worktree/tree.ts';
import { filesIn } from '../../execute/worktree/tree-state.ts';
import { isProctors } from '../../policy/active-changes.ts';

/** The files of a folder, read before the agent starts. */
export interface Overlay {
  readonly sha256: string;
  readonly files: ReadonlyMap<string, OverlayFile>;
}

interface OverlayFile {
  readonly bytes: Buffer;
  readonly isExecutable: boolean;
}

/** Reads and hashes a folder. Refuses links, special files and names that are not safe everywhere. */
export function readOverlay(folder: string, cwd: string, whose: string): Overlay {
  try {
    return overlayAt(folder, cwd, whose);
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    const message = `${whose} cannot be read, or changed while it was read.`;
    throw new Fault('usage', message, { cause });
  }
}

function overlayAt(folder: string, cwd: string, whose: string): Overlay {
  const top = path.resolve(cwd, folder);
  const refuse = (why: string): Fault => new Fault('usage', `${whose} ${why}.`);
  const files = new Map<string, OverlayFile>();
  let bytes = 0;
  if (lstatSync(top, { throwIfNoEntry: false })?.isDirectory() !== true) throw refuse('is not a folder');
  const pending = [''];
  for (let below = pending.pop(); below !== undefined; below = pending.pop()) {
    for (const entry of readdirSync(path.join(top, below), { withFileTypes: true })) {
      const at = below === '' ? entry.name : `${below}/${entry.name}`;
      if (unsafePath(at) !== undefined || isReserved(entry.name) || entry.name.includes('\uFFFD'))
        throw refuse('contains a name that is not allowed');
      if (entry.isDirectory()) {
        pending.push(at);
        continue;
      }
      if (!entry.isFile()) throw refuse('contains a link or a special file. Use regular files only');
      const file = fileAt(path.join(top, at));
      bytes += file?.bytes.length ?? 0;
      if (!file || bytes > OVERLAY_BYTES_MAX) throw refuse('is larger than 64 MiB, or changed while it was read');
      files.set(at, file);
      if (files.size > OVERLAY_FILES_MAX) throw refuse('has more than 10,000 files');
    }
  }
  if (files.size === 0) throw refuse('is empty');
  const listed = [...files].map(([at, file]) => [at, bytesHash(file.bytes), file.isExecutable] as const);
  listed.sort(([a], [b]) => (a < b ? -1 : 1));
  return { sha256: contentHash(listed), files };
}

const OVERLAY_BYTES_MAX = 64 * 1024 * 1024;
const OVERLAY_FILES_MAX = 10_000;

function isReserved(name: string): boolean {
  const bytes = Buffer.from(name).toString('latin1');
  return isGitName(bytes) || isProctors(bytes);
}

function fileAt(place: string): OverlayFile | undefined {
  const fd = openSync(place, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile() || stat.size > OVERLAY_BYTES_MAX) return undefined;
    const bytes = readFileSync(fd);
    return bytes.length === stat.size ? { bytes, isExecutable: (stat.mode & 0o100) !== 0 } : undefined;
  } finally {
    closeSync(fd);
  }
}

/** Warns about hidden files that the repository contains byte for byte, so that the agent can read them. */
export function overlayWarnings(checks: readonly OverlaidCheck[], { format, baseFiles }: Clone): string[] {
  if (!checks.some(({ overlay }) => overlay)) return [];
  const base = new Set([...filesIn(baseFiles).values()].map(({ sha }) => sha));
  return checks.flatMap(({ name, overlay }) => {
    const seen = overlay ? seenInBase(overlay, format, base) : 0;
    const files = counted(seen, 'file');
    return seen > 0
      ? [`The agent can read ${files} of the overlay of the check ${name}: the repository contains them.`]
      : [];
  });
}

interface OverlaidCheck {
  readonly name: string;
  readonly overlay: Overlay | undefined;
}

function seenInBase({ files }: Overlay, format: 'sha1' | 'sha256', base: ReadonlySet<string>): number {
  return [...files.values()].filter(({ bytes }) => {
    if (bytes.length === 0) return false;
    return base.has(createHash(format).update(`blob ${bytes.length}\0`).update(bytes).digest('hex'));
  }).length;
}
