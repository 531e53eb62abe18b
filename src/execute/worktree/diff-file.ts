import { createHash } from 'node:crypto';
import { closeSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';
import { OWN_FILE } from '../../base/private.ts';
import type { WorkspaceDiff } from '../../contracts/agent-step/changes.ts';
import { ended, gitFailed, startGit } from './git.ts';

/** The git arguments for a complete diff that every git can apply. */
export const DIFF_TREE = [
  ...'diff-tree --patch --binary --full-index --no-renames --no-ext-diff --no-textconv --no-color'.split(' '),
  '--src-prefix=a/',
  '--dst-prefix=b/',
];

/**
 * Writes the diff between two commits to a file. A diff of more than `bytesMax` bytes is cut at a file boundary.
 * `missed` is set if the tree exceeded another limit, so that the commits are incomplete.
 */
export async function writeDiff(
  gitDir: string,
  [from, to]: readonly [string, string],
  out: string,
  { bytesMax, missed }: { bytesMax: number; missed: { why: 'file_bytes' | 'entries'; bytes: number } | undefined },
): Promise<WorkspaceDiff> {
  const fd = openSync(out, 'wx+', OWN_FILE);
  try {
    const { bytes, boundary, isSlow } = from === to ? NOTHING : await streamed(gitDir, [from, to], fd, bytesMax);
    const why = bytes > bytesMax ? 'bytes' : isSlow ? 'time' : missed?.why;
    if (why === undefined) return { ...hashed(fd, bytes), cut: null };
    const kept = bytes > bytesMax || isSlow ? boundary : bytes;
    const bytesTotal = bytes + (missed?.bytes ?? 0);
    const mark = Buffer.from(`# This diff is truncated after ${kept} bytes.\n`);
    ftruncateSync(fd, kept);
    writeSync(fd, mark, 0, mark.length, kept);
    return { ...hashed(fd, kept + mark.length), cut: { bytesTotal, why } };
  } finally {
    closeSync(fd);
  }
}

const NOTHING = { bytes: 0, boundary: 0, isSlow: false };

/** Streams the diff to the file, counts its bytes, and finds the last file boundary within the limit. */
async function streamed(gitDir: string, commits: readonly string[], fd: number, bytesMax: number) {
  const child = startGit([...DIFF_TREE, ...commits], { gitDir, timeoutMs: DIFF_MS });
  const end = ended(child);
  child.stdin?.end();
  let bytes = 0;
  let boundary = 0;
  let tail = Buffer.alloc(0);
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    const seen = Buffer.concat([tail, chunk]);
    const start = bytes - tail.length;
    for (let at = seen.indexOf(HEAD); at !== -1; at = seen.indexOf(HEAD, at + 1)) {
      if (start + at + 1 <= bytesMax) boundary = start + at + 1;
    }
    if (bytes < bytesMax) writeSync(fd, chunk, 0, chunk.length, bytes);
    bytes += chunk.length;
    tail = seen.subarray(-(HEAD.length - 1));
  }
  const { code, stderr } = await end;
  const isSlow = stderr.startsWith('SIGKILL');
  if (code !== 0 && !isSlow) throw gitFailed(DIFF_TREE, stderr);
  return { bytes, boundary, isSlow };
}

/**
 * Occurs only between two files of a diff: content lines start with another character, and binary data contains no
 * space.
 */
const HEAD = Buffer.from('\ndiff --git ');
const DIFF_MS = 120_000;

function hashed(fd: number, bytes: number): { bytes: number; sha256: `sha256:${string}` } {
  const hash = createHash('sha256');
  const chunk = Buffer.allocUnsafe(1024 * 1024);
  for (let at = 0; at < bytes; ) {
    const length = readSync(fd, chunk, 0, chunk.length, at);
    if (length === 0) break;
    hash.update(chunk.subarray(0, length));
    at += length;
  }
  return { bytes, sha256: `sha256:${hash.digest('hex')}` };
}
