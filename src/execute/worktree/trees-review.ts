import { hasActiveParts, needsReview, PROCTORS, type TreeView } from '../../policy/active-changes.ts';
import { notApplied } from './apply.ts';
import type { Reviewed } from './apply-review.ts';
import { askGit, type Asking, git } from './git.ts';
import { isGitName, pathText } from './tree.ts';
import { printable } from '../../base/printable.ts';
import { blobText } from './tree-review.ts';
import { type BaseEntry, filesIn, listingOf } from './tree-state.ts';

/** A path that differs between two trees. */
export interface ReviewedChange {
  readonly path: string;
  /** Present if the file runs automatically. */
  readonly reviewed?: Reviewed;
}

/** Compares two git trees, and finds changed files that run automatically. Reads objects only; nothing is checked out. */
export async function reviewTrees(
  before: string,
  after: string,
  named: readonly string[],
  asking: Asking,
): Promise<ReviewedChange[]> {
  if (before === after) return [];
  const [old, now] = [await entriesOf(before, asking), await entriesOf(after, asking)];
  const paths = [...new Set([...old.keys(), ...now.keys()])].filter(at => !isSame(old.get(at), now.get(at))).sort();
  for (const at of paths) refuseGits(at);
  const links = await linksIn(now, asking);
  const texts = new Map<string, { before: string | undefined; after: string | undefined }>();
  for (const at of paths.filter(hasActiveParts)) {
    texts.set(at, { before: await textOf(old.get(at), asking), after: await textOf(now.get(at), asking) });
  }
  const view: TreeView = {
    linkAt: at => links.get(at),
    links: [...links.keys()],
    has: at => now.has(at),
    textsOf: at => texts.get(at),
    named,
  };
  const found = needsReview(paths, view);
  return paths.map(at => {
    const reason = found.get(at);
    const shown = pathText(at).path;
    if (reason === undefined) return { path: shown };
    return { path: shown, reviewed: { path: shown, reason, isForbidden: reason === PROCTORS } };
  });
}

async function entriesOf(tree: string, asking: Asking): Promise<Map<string, BaseEntry>> {
  return filesIn(await git(listingOf(tree), asking));
}

function isSame(one: BaseEntry | undefined, other: BaseEntry | undefined): boolean {
  return one?.sha === other?.sha && one?.mode === other?.mode;
}

function refuseGits(at: string): void {
  if (at.split('/').some(isGitName))
    throw notApplied(`A commit of the agent would change git's own files: ${printable(pathText(at).path)}.`);
}

/** An unreadable text is not undefined, which would mean that the file does not exist. */
async function textOf(entry: BaseEntry | undefined, { gitDir }: Asking): Promise<string | undefined> {
  return entry === undefined ? undefined : ((await blobText(gitDir as string, entry.sha)) ?? '');
}

/** The targets of all symlinks in a tree, one character per byte. */
async function linksIn(entries: ReadonlyMap<string, BaseEntry>, asking: Asking): Promise<Map<string, string>> {
  const links = [...entries].filter(([, { mode }]) => mode === '120000');
  const targets = new Map<string, string>();
  if (links.length === 0) return targets;
  const input = links.map(([, { sha }]) => `${sha}\n`).join('');
  const { code, stdout } = await askGit(['cat-file', '--batch'], { ...asking, input, bytesMax: LINKS_BYTES_MAX });
  let at = 0;
  for (const [path] of code === 0 ? links : []) {
    const end = stdout.indexOf('\n', at);
    const [, bytes] = /^[0-9a-f]+ blob (\d+)$/.exec(stdout.toString('latin1', at, end)) ?? [];
    if (bytes === undefined) break;
    targets.set(path, stdout.toString('latin1', end + 1, end + 1 + Number(bytes)));
    at = end + 1 + Number(bytes) + 1;
  }
  if (targets.size !== links.length) throw notApplied('The symlinks of the commit cannot be read.');
  return targets;
}

const LINKS_BYTES_MAX = 64 * 1024 * 1024;
