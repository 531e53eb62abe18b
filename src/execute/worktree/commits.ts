import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Commit, CommitSeries } from '../../contracts/agent-step/changes.ts';
import { clip } from '../../base/clip.ts';
import { monotonicMs } from '../../base/clock.ts';
import { readRegular } from '../../base/regular.ts';
import type { Clone } from './clone.ts';
import { type SeriesRequest, seriesOf } from './commit-series.ts';
import { askGit, type Asking } from './git.ts';
import { isFolder, namesIn } from './tree.ts';

export interface Commits {
  readonly listed: readonly Commit[];
  /** Null if some are unreadable. */
  readonly total: number | null;
  /** The run's branch no longer contains base, or this is unknown. */
  readonly rewritten: boolean;
  /** The number of commits that no ref reaches; null if some objects are unreadable. */
  readonly abandoned: number | null;
  readonly series?: CommitSeries;
}

/**
 * The commits that are reachable from `tips` but not from base. Copies the objects out of the hostile git folder and
 * indexes packs again, so that git reads no file there that refers elsewhere.
 */
export async function commitsOf(
  clone: Clone,
  gitDir: string,
  tips: readonly string[],
  own: string | null,
  wanted?: SeriesRequest,
): Promise<Commits> {
  const objects = path.join(path.dirname(clone.trusted), 'agent-objects');
  rmSync(objects, { recursive: true, force: true });
  try {
    const asking: Asking = {
      gitDir: clone.trusted,
      env: { GIT_ALTERNATE_OBJECT_DIRECTORIES: JSON.stringify(objects) },
      timeoutMs: COMMITS_MS,
      bytesMax: LOG_BYTES_MAX,
    };
    const { files, isWhole } = await copyObjects(clone, path.join(gitDir, 'objects'), objects);
    const readable = await commitsAmong(tips, asking);
    const range = [...readable, `^${clone.baseSha}`];
    const log = ['log', '-z', '--format=%H %s', '--no-show-signature', `--max-count=${COMMITS_MAX}`, '--stdin'];
    const input = `${range.join('\n')}\n`;
    const said = readable.length === 0 ? undefined : await askGit(log, { ...asking, input });
    const counted =
      said?.code === 0 ? await askGit(['rev-list', '--count', '--stdin'], { ...asking, input }) : undefined;
    const isKnown = isWhole && readable.length === tips.length && counted?.code === 0;
    const holds =
      own === clone.baseSha ||
      (own !== null && (await askGit(['merge-base', '--is-ancestor', clone.baseSha, own], asking)).code === 0);
    const abandoned = isWhole ? (files === 0 ? 0 : await abandonedIn(objects, readable, clone, asking)) : null;
    const series = wanted && (await seriesOf(wanted, asking));
    return {
      abandoned,
      ...(series && { series }),
      listed: said?.code === 0 ? readLog(said.stdout) : [],
      total: isKnown ? Number(counted.stdout.toString()) : tips.length === 0 ? 0 : null,
      rewritten: own !== null && !holds,
    };
  } finally {
    rmSync(objects, { recursive: true, force: true });
  }
}

/** Counts unreachable commits. All commits in the agent's object folder are new, except those in known packs. */
async function abandonedIn(
  objects: string,
  held: readonly string[],
  clone: Clone,
  asking: Asking,
): Promise<number | null> {
  const all = await askGit(
    ['cat-file', '--batch-all-objects', '--unordered', '--batch-check=%(objecttype) %(objectname)'],
    {
      ...asking,
      // Only the agent's objects, not the user's.
      env: { GIT_OBJECT_DIRECTORY: objects },
    },
  );
  if (all.code !== 0) return null;
  const commits = [...all.stdout.toString().matchAll(/^commit ([0-9a-f]+)$/gm)].map(([, sha]) => sha as string);
  if (commits.length === 0) return 0;
  const range = [...commits, ...[clone.baseSha, ...held].map(sha => `^${sha}`)];
  const counted = await askGit(['rev-list', '--count', '--ignore-missing', '--stdin'], {
    ...asking,
    input: `${range.join('\n')}\n`,
  });
  return counted.code === 0 ? Number(counted.stdout.toString()) : null;
}

async function commitsAmong(tips: readonly string[], asking: Asking): Promise<string[]> {
  if (tips.length === 0) return [];
  const input = tips.map(tip => `${tip}^{commit}\n`).join('');
  const { stdout } = await askGit(['cat-file', '--batch-check=%(objecttype)'], { ...asking, input });
  const types = stdout.toString().split('\n');
  return tips.filter((_, index) => types[index] === 'commit');
}

const COMMITS_MAX = 1_000;
const COMMITS_MS = 30_000;
const LOG_BYTES_MAX = 64 * 1024 * 1024;
const SUBJECT_BYTES_MAX = 200;

function readLog(log: Buffer): Commit[] {
  return log
    .toString()
    .split('\0')
    .filter(entry => entry !== '')
    .map(entry => ({
      sha: entry.slice(0, entry.indexOf(' ')),
      subject: clip(entry.slice(entry.indexOf(' ') + 1), SUBJECT_BYTES_MAX).text,
    }));
}

/** Copies loose objects and new packs only. `isWhole`: nothing was left out. */
async function copyObjects(clone: Clone, from: string, to: string): Promise<{ files: number; isWhole: boolean }> {
  mkdirSync(path.join(to, 'pack'), { recursive: true });
  // Packs from the original clone contain nothing new.
  const given = new Set(namesOf(path.join(clone.tree, '.git', 'objects', 'pack')));
  const until = monotonicMs() + PACKS_MS;
  let bytes = 0;
  let files = 0;
  let isWhole = true;
  for (const folder of namesOf(from).filter(name => /^(?:[0-9a-f]{2}|pack)$/.test(name))) {
    const wanted = folder === 'pack' ? /^pack-[0-9a-f]{40,64}\.pack$/ : /^[0-9a-f]{38}(?:[0-9a-f]{24})?$/;
    mkdirSync(path.join(to, folder), { recursive: true });
    for (const name of namesOf(path.join(from, folder)).filter(each => wanted.test(each) && !given.has(each))) {
      const copy = path.join(to, folder, name);
      const room = ++files > OBJECT_FILES_MAX ? 0 : OBJECT_BYTES_MAX - bytes;
      const copied = room > 0 ? copyRegular(path.join(from, folder, name), copy, room) : undefined;
      bytes += copied ?? 0;
      const isRead =
        copied !== undefined && (folder !== 'pack' || (await isIndexed(clone, copy, until - monotonicMs())));
      isWhole &&= isRead;
    }
  }
  return { files, isWhole };
}

const OBJECT_BYTES_MAX = 512 * 1024 * 1024;
const OBJECT_FILES_MAX = 100_000;
/** For all packs together. */
const PACKS_MS = 60_000;

/** The number of bytes copied; undefined if it is not a regular file or is too large. */
function copyRegular(from: string, to: string, bytesMax: number): number | undefined {
  const bytes = readRegular(from, bytesMax);
  if (!bytes) return undefined;
  writeFileSync(to, bytes);
  return bytes.length;
}

/** A pack that cannot be indexed in time is ignored. */
async function isIndexed({ trusted }: Clone, pack: string, leftMs: number): Promise<boolean> {
  if (leftMs <= 0) return false;
  return (await askGit(['index-pack', pack], { gitDir: trusted, timeoutMs: Math.ceil(leftMs) })).code === 0;
}

/** The names in a folder, unless it is a symlink. */
function namesOf(folder: string): string[] {
  return isFolder(folder) ? (namesIn(folder, true) ?? []) : [];
}
