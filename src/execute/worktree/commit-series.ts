import { writeFileSync } from 'node:fs';
import { bytesHash } from '../../base/hash.ts';
import { OWN_FILE } from '../../base/private.ts';
import type { CommitSeries, SeriesCommit, Signature } from '../../contracts/agent-step/changes.ts';
import { DIFF_TREE } from './diff-file.ts';
import { askGit, askGits, type Asking } from './git.ts';

/** The commits from base to a tip, and where their diffs go. */
export interface SeriesRequest {
  /** The commit that HEAD of the agent's clone points to; null if unknown. */
  readonly tip: string | null;
  readonly base: string;
  readonly out: string;
  /** Folders that do not belong to the tree, because the sandbox mounted them. */
  readonly leaveOut: readonly string[];
}

/**
 * Records the agent's commits so that they can be made again elsewhere: who, when, the message, and the diff to the
 * parent. Undefined if there are none. The diffs go to one file, in order. Merges and rewritten histories are left out.
 */
export async function seriesOf(
  { tip, base, out, leaveOut }: SeriesRequest,
  asking: Asking,
): Promise<CommitSeries | undefined> {
  if (tip === base) return undefined;
  if (tip === null) return leftOut('unreadable');
  const range = [
    'rev-list',
    '--reverse',
    '--topo-order',
    '--parents',
    `--max-count=${COMMITS_MAX + 1}`,
    tip,
    `^${base}`,
  ];
  const { code, stdout } = await askGit(range, asking);
  if (code !== 0) return leftOut('unreadable');
  const chain = stdout
    .toString()
    .trim()
    .split('\n')
    .map(line => line.split(' '));
  // The agent moved HEAD back to an ancestor of base.
  if (stdout.length === 0) return leftOut('not_linear');
  if (chain.length > COMMITS_MAX) return leftOut('too_many');
  const isLinear = chain.every(([, ...parents], index) => parents.join() === (chain[index - 1]?.[0] ?? base));
  if (!isLinear) return leftOut('not_linear');
  const commits = await commitsIn(
    chain.map(([sha]) => sha as string),
    asking,
  );
  if (typeof commits === 'string') return leftOut(commits);
  const diffs = await diffsOf(chain, leaveOut, asking);
  if (!diffs) return leftOut('too_large');
  const bytes = Buffer.concat(diffs);
  writeFileSync(out, bytes, { mode: OWN_FILE, flag: 'wx' });
  return {
    why: null,
    diff: { bytes: bytes.length, sha256: bytesHash(bytes) },
    listed: commits.map((commit, index) => Object.assign(commit, { diffBytes: diffs[index]?.length ?? 0 })),
  };
}

const COMMITS_MAX = 200;
const SERIES_BYTES_MAX = 16 * 1024 * 1024;
/** Authors and messages of all commits together, because they go into a document. */
const COMMITS_BYTES_MAX = 1024 * 1024;

function leftOut(why: NonNullable<CommitSeries['why']>): CommitSeries {
  return { why, diff: null, listed: [] };
}

/** Undefined if the diffs are too large or could not be made in time. */
async function diffsOf(
  chain: readonly (readonly string[])[],
  leaveOut: readonly string[],
  asking: Asking,
): Promise<Buffer[] | undefined> {
  const excluded = leaveOut.map(folder => `:(exclude,literal)${folder}`);
  const questions = chain.map(([sha, parent]) => [
    ...DIFF_TREE,
    '--ignore-submodules=all',
    parent as string,
    sha as string,
    ...(excluded.length > 0 ? ['--', ...excluded] : []),
  ]);
  try {
    const answers = await askGits(questions, { ...asking, bytesMax: SERIES_BYTES_MAX });
    return answers.every(({ code }) => code === 0) ? answers.map(({ stdout }) => stdout) : undefined;
  } catch {
    return undefined;
  }
}

/** Reads commit objects byte by byte, because the formats of `git log` depend on what the agent wrote. */
async function commitsIn(
  shas: readonly string[],
  asking: Asking,
): Promise<Omit<SeriesCommit, 'diffBytes'>[] | 'unreadable' | 'too_large'> {
  const { code, stdout } = await askGit(['cat-file', '--batch'], { ...asking, input: `${shas.join('\n')}\n` });
  if (code !== 0) return 'unreadable';
  if (stdout.length > COMMITS_BYTES_MAX) return 'too_large';
  const commits: Omit<SeriesCommit, 'diffBytes'>[] = [];
  let at = 0;
  for (const sha of shas) {
    const end = stdout.indexOf('\n', at);
    const [, bytes] = /^[0-9a-f]+ commit (\d+)$/.exec(stdout.toString('latin1', at, end)) ?? [];
    if (bytes === undefined) return 'unreadable';
    const text = stdout.toString('utf8', end + 1, end + 1 + Number(bytes));
    at = end + 1 + Number(bytes) + 1;
    const blank = text.indexOf('\n\n');
    const head = blank === -1 ? text : text.slice(0, blank);
    const author = signatureIn(head, 'author');
    const committer = signatureIn(head, 'committer');
    if (!author || !committer) return 'unreadable';
    commits.push({ sha, author, committer, message: blank === -1 ? '' : text.slice(blank + 2).replaceAll('\0', '') });
  }
  return commits;
}

function signatureIn(head: string, role: 'author' | 'committer'): Signature | undefined {
  const [, name, email, date] =
    new RegExp(`^${role} ([^<>\\n]*?) ?<([^<>\\n]*)> (\\d{1,12} [+-]\\d{4})$`, 'm').exec(head) ?? [];
  if (name === undefined || email === undefined || date === undefined) return undefined;
  return { name: plain(name), email: plain(email), date };
}

function plain(text: string): string {
  // The cut can split a surrogate pair.
  return text
    .replace(/\p{Cc}/gu, '')
    .slice(0, NAME_CHARS_MAX)
    .toWellFormed();
}

const NAME_CHARS_MAX = 500;
