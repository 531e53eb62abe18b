import { chmodSync, closeSync, constants, openSync, readlinkSync, readSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { codeOf, Fault } from '../../base/fault.ts';
import { feedGit, git, gitFailed } from './git.ts';
import { placeIn, type TreeEntry } from './tree.ts';

export function modeOf({ kind, isExecutable }: TreeEntry): string {
  if (kind === 'link') return '120000';
  return isExecutable ? '100755' : '100644';
}

/** The git object ID of an entry's content; undefined if it is unreadable or its size has changed. */
export function blobName(top: string, entry: TreeEntry, format: 'sha1' | 'sha256'): string | undefined {
  const hash = createHash(format).update(`blob ${entry.bytes}\0`);
  let bytes = 0;
  try {
    for (const chunk of treeContent(top, entry)) {
      hash.update(chunk);
      bytes += chunk.length;
    }
  } catch {
    return undefined;
  }
  return bytes === entry.bytes ? hash.digest('hex') : undefined;
}

/** The content of a file or symlink. Each piece overwrites the previous one. */
export function* treeContent(top: string, { path, kind, bytes }: TreeEntry): Generator<Buffer> {
  const place = placeIn(top, path);
  if (kind === 'link') {
    yield readlinkSync(place, 'buffer');
    return;
  }
  const fd = opened(place);
  try {
    const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, bytes + 1));
    for (let length = readSync(fd, chunk); length > 0; length = readSync(fd, chunk)) yield chunk.subarray(0, length);
  } finally {
    closeSync(fd);
  }
}

const CHUNK_BYTES = 1024 * 1024;

/** Never follows a symlink or waits for a FIFO. Restores permissions that the agent removed. */
function opened(place: Buffer): number {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  try {
    return openSync(place, flags);
  } catch (error) {
    if (codeOf(error) !== 'EACCES') throw error;
    chmodSync(place, 0o600);
    return openSync(place, flags);
  }
}

export interface Edits {
  readonly from?: string;
  readonly message: string;
  readonly deleted: readonly string[];
  readonly put: readonly TreeEntry[];
}

/** Creates a commit in Proctor's git folder from files that git itself never reads. Returns its ID. */
export async function commitOf(gitDir: string, top: string, edits: Edits): Promise<string> {
  const args = ['fast-import', '--quiet', '--done'];
  const settings = [['fastimport.unpackLimit', '1'] as const, ['core.bigFileThreshold', '16m'] as const];
  const asking = { gitDir, settings, timeoutMs: IMPORT_MS };
  const { code, stderr } = await feedGit(args, asking, commandsFor(top, edits));
  if (code !== 0) throw gitFailed(args, stderr);
  return (await git(['rev-parse', '--verify', REF], { gitDir })).toString().trim();
}

const REF = 'refs/proctor/made';
const IMPORT_MS = 300_000;

function* commandsFor(top: string, { from, message, deleted, put }: Edits): Generator<Buffer | string> {
  yield `commit ${REF}\ncommitter proctor-agent <agent@proctor.invalid> 0 +0000\ndata ${Buffer.byteLength(message)}\n${message}\n`;
  if (from !== undefined) yield `from ${from}\n`;
  // Deletions first, because a folder may replace a file.
  for (const path of deleted) yield Buffer.from(`D ${quoted(path)}\n`, 'latin1');
  for (const entry of put) {
    yield Buffer.from(`M ${modeOf(entry)} inline ${quoted(entry.path)}\ndata ${entry.bytes}\n`, 'latin1');
    let bytes = 0;
    for (const chunk of treeContent(top, entry)) {
      bytes += chunk.length;
      // A copy, because the next piece may be read before this one is written.
      yield Buffer.from(chunk);
    }
    if (bytes !== entry.bytes) throw new Fault('tree_changed', 'A file changed while Proctor was reading it.');
    yield '\n';
  }
  yield 'done\n';
}

/** Quotes a path for fast-import. */
function quoted(path: string): string {
  return `"${path.replace(/["\\\n]/g, character => (character === '\n' ? '\\n' : `\\${character}`))}"`;
}
