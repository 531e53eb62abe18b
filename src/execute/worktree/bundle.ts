import { createHash, type Hash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import type { ContentHash } from '../../base/hash.ts';
import { type BundleHeader, bundleHeader, HEADER_BYTES_MAX, refusedBundle } from './bundle-header.ts';
import { askGit, feedGit } from './git.ts';

/** A bundle that git has checked, as a bare repository of its own. */
export interface OpenedBundle {
  readonly sha256: ContentHash;
  readonly format: BundleHeader['format'];
  readonly refs: ReadonlyMap<string, string>;
}

/**
 * Unpacks a bundle into an empty git folder that `make` creates. Git reads only the pack: no settings, hooks, remotes
 * or other objects take part. The pack must be complete, and each object must match its name.
 */
export async function openBundle(
  file: string,
  gitDir: string,
  make: (format: BundleHeader['format']) => void,
): Promise<OpenedBundle> {
  const fd = openedFile(file);
  try {
    const start = startOf(fd);
    const header = bundleHeader(start);
    make(header.format);
    const sha256 = await indexed(fd, header, start.subarray(0, header.bytes), gitDir);
    writeFileSync(path.join(gitDir, 'packed-refs'), packedRefsOf(header.refs));
    writeFileSync(path.join(gitDir, 'HEAD'), headOf(header.refs));
    await refuseMissing(header, gitDir);
    return { sha256, format: header.format, refs: header.refs };
  } finally {
    closeSync(fd);
  }
}

/** Throws if a file is obviously not a bundle, before anything is created. */
export function checkBundle(file: string): void {
  const fd = openedFile(file);
  try {
    bundleHeader(startOf(fd));
  } finally {
    closeSync(fd);
  }
}

const BUNDLE_BYTES_MAX = 1024 ** 3;
const INDEX_MS = 300_000;
const CHUNK_BYTES = 1024 * 1024;

function openedFile(file: string): number {
  const fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  const stat = fstatSync(fd);
  if (stat.isFile() && stat.size <= BUNDLE_BYTES_MAX) return fd;
  closeSync(fd);
  throw refusedBundle(stat.isFile() ? 'it is larger than 1 GiB' : 'it is not a regular file');
}

function startOf(fd: number): Buffer {
  const start = Buffer.alloc(HEADER_BYTES_MAX);
  let length = 0;
  for (;;) {
    const got = readSync(fd, start, length, start.length - length, length);
    length += got;
    if (got === 0 || length === start.length) return start.subarray(0, length);
  }
}

/** Feeds the pack to git, and hashes the same bytes. Without `--fix-thin`, a pack that lacks objects fails. */
async function indexed(fd: number, header: BundleHeader, start: Buffer, gitDir: string): Promise<ContentHash> {
  const args = ['index-pack', '--stdin', '--strict', '--threads=2', `--max-input-size=${BUNDLE_BYTES_MAX}`];
  const settings = [['core.bigFileThreshold', '16m'] as const];
  const hash = createHash('sha256').update(start);
  const asking = { gitDir, settings, timeoutMs: INDEX_MS };
  const { code, stderr } = await feedGit(args, asking, packIn(fd, header.bytes, hash));
  if (code !== 0) throw refusedBundle('git cannot read its pack, which is damaged, incomplete or too large', stderr);
  return `sha256:${hash.digest('hex')}`;
}

/** The file from an offset on. Each piece is a new buffer, because the one before may not be written yet. */
function* packIn(fd: number, from: number, hash: Hash): Generator<Buffer> {
  for (let at = from; at <= BUNDLE_BYTES_MAX; ) {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    const length = readSync(fd, chunk, 0, chunk.length, at);
    if (length === 0) return;
    at += length;
    hash.update(chunk.subarray(0, length));
    yield chunk.subarray(0, length);
  }
}

function packedRefsOf(refs: ReadonlyMap<string, string>): string {
  const lines = [...refs].filter(([name]) => name !== 'HEAD').map(([name, sha]) => `${sha} ${name}\n`);
  return `# pack-refs with: \n${lines.join('')}`;
}

/** The bundle's HEAD, as a branch if one has the same commit; otherwise its only branch. */
function headOf(refs: ReadonlyMap<string, string>): string {
  const sha = refs.get('HEAD');
  const branches = [...refs].filter(([name]) => name.startsWith('refs/heads/'));
  const same = sha === undefined ? branches : branches.filter(([, at]) => at === sha);
  const usual = same.find(([name]) => name === 'refs/heads/main' || name === 'refs/heads/master');
  const branch = usual ?? (sha !== undefined || same.length === 1 ? same[0] : undefined);
  if (branch) return `ref: ${branch[0]}\n`;
  return sha === undefined ? 'ref: refs/heads/none\n' : `${sha}\n`;
}

async function refuseMissing({ refs }: BundleHeader, gitDir: string): Promise<void> {
  const input = [...refs.values()].map(sha => `${sha}\n`).join('');
  const { code, stdout } = await askGit(['cat-file', '--batch-check'], { gitDir, input });
  if (code !== 0) throw new Fault('clone_failed', 'The bundle could not be read.');
  if (stdout.includes(' missing\n')) throw refusedBundle('one of its refs names an object that it does not contain');
}
