import { mkdtempSync, realpathSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';
import type { ReviewedPath, Signature } from '../../contracts/agent-step/changes.ts';
import { hasCommit, MOVES, notApplied, refuseActive } from './apply.ts';
import { namedByGit, type Reviewed } from './apply-review.ts';
import { makeTrusted } from './clone-folder.ts';
import { topOf } from './clone-source.ts';
import { askGit, type Asking, git, gitFailed } from './git.ts';
import { reviewTrees } from './trees-review.ts';

export interface BranchApplication {
  readonly branch: string;
  /** The commit that the agent started from. The branch starts there too. */
  readonly base: string;
  /** The agent's commits, oldest first. Each diff is relative to the previous one. */
  readonly commits: readonly NewCommit[];
  /** All changes since base. What the commits lack becomes one more commit. */
  readonly whole: NewCommit;
  readonly isTrial: boolean;
  readonly allowActive: readonly string[];
  /** Says why no commit may change a path. */
  readonly whyNot: (path: string) => string | undefined;
}

export interface NewCommit {
  readonly diff: Buffer;
  readonly message: string;
  readonly author: Signature;
  readonly committer: Signature;
}

export interface NewBranch {
  readonly tip: string;
  readonly commits: number;
  readonly needsReview: readonly ReviewedPath[];
}

/**
 * Makes the agent's commits again, on a new branch of the user's repository. The work tree, the index and the current
 * branch stay unchanged. Builds everything in a private git folder and copies it once all checks have passed.
 */
export async function applyToBranch(dir: string, asked: BranchApplication): Promise<NewBranch> {
  const repository = await repositoryOf(dir);
  await refuseBranch(repository.top, asked.branch);
  if (!(await hasCommit(repository.top, asked.base)))
    throw notApplied(
      'This repository does not contain the commit that the agent worked on, so no branch can start there. Use --dir to name the right repository.',
    );
  const folder = mkdtempSync(path.join(realpathSync(tmpdir()), 'proctor-branch-'));
  try {
    const gitDir = path.join(folder, 'private.git');
    makeTrusted(gitDir, repository);
    const asking: Asking = { gitDir, env: { GIT_INDEX_FILE: path.join(folder, 'index') }, timeoutMs: STEP_MS };
    const { trees, final } = await treesOf(asked, asking);
    const reviewed = await reviewAll([...trees, final], asked, repository.top, asking);
    refuseActive(reviewed, new Set(asked.allowActive));
    const needsReview = reviewed.map(({ path: at, reason }) => ({ path: at, reason }));
    const made = asked.commits.map((commit, index) => ({ commit, tree: trees[index + 1] as string }));
    if (final !== trees.at(-1)) made.push({ commit: asked.whole, tree: final });
    let tip = asked.base;
    for (const { commit, tree } of made) tip = await commitMade(commit, tree, tip, asking);
    if (!asked.isTrial) await brought(repository.top, asked, tip, asking);
    return { tip, commits: made.length, needsReview };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const STEP_MS = 120_000;

interface Repository {
  readonly top: string;
  readonly objects: string;
  readonly format: 'sha1' | 'sha256';
}

async function repositoryOf(dir: string): Promise<Repository> {
  if (!statSync(dir, { throwIfNoEntry: false })?.isDirectory())
    throw new Fault('usage', 'The target of the branch does not exist or is not a folder.');
  const top = await topOf(realpathSync(dir));
  if (top === undefined)
    throw notApplied('The folder is not in a git work tree, so it cannot get a branch. Use --dir to name one.');
  const args = ['rev-parse', '--show-object-format', '--path-format=absolute', '--git-common-dir'];
  const said = (await git(args, { cwd: top, asUser: true })).toString().replace(/\n$/, '');
  const end = said.indexOf('\n');
  const format = said.slice(0, end) === 'sha256' ? 'sha256' : 'sha1';
  return { top, format, objects: path.join(said.slice(end + 1), 'objects') };
}

/** A branch must have a name that git allows, and must not exist. */
async function refuseBranch(top: string, name: string): Promise<void> {
  const asking: Asking = { cwd: top, asUser: true };
  const ref = `refs/heads/${name}`;
  // Git itself would allow a leading dash in the full name, but no command can use such a branch.
  const isPlain = /^[^-\p{Cc}\p{Cs}][^\p{Cc}\p{Cs}]{0,199}$/u.test(name) && name !== 'HEAD' && name !== '@';
  if (!isPlain || (await askGit(['check-ref-format', ref], asking)).code !== 0)
    throw new Fault('usage', `"${printable(name)}" is not a valid branch name. Choose another with --branch.`);
  const [exists, current] = await Promise.all([
    askGit(['show-ref', '--verify', '--quiet', ref], asking),
    askGit(['symbolic-ref', '--quiet', 'HEAD'], asking),
  ]);
  if (exists.code === 0 || current.stdout.toString().trim() === ref)
    throw notApplied(`The branch ${printable(name)} already exists. Choose another name with --branch.`);
}

/** The trees from base to the last commit, and the tree as the agent left it. */
async function treesOf(
  { base, commits, whole }: BranchApplication,
  asking: Asking,
): Promise<{ trees: string[]; final: string }> {
  await git(['read-tree', base], asking);
  const trees = [await treeMade(asking)];
  for (const { diff } of commits) trees.push(await patched(diff, asking));
  await git(['read-tree', base], asking);
  return { trees, final: await patched(whole.diff, asking) };
}

/** Applies a diff to the private index. No file is written, and no filter or attribute applies. */
async function patched(diff: Buffer, asking: Asking): Promise<string> {
  if (MOVES.some(line => diff.includes(line)))
    throw notApplied("The diff copies or renames a file, which a run's diff never does.");
  if (diff.length > 0) {
    const settings = [['apply.whitespace', 'nowarn'] as const, ['apply.ignoreWhitespace', 'no'] as const];
    const { code, stderr } = await askGit(['apply', '--cached', '-'], { ...asking, settings, input: diff });
    if (code !== 0)
      throw notApplied('The recorded changes do not apply to the commit that the agent worked on.', stderr);
  }
  return treeMade(asking);
}

async function treeMade(asking: Asking): Promise<string> {
  return (await git(['write-tree'], asking)).toString().trim();
}

/** Reviews every step, because each commit on the branch can be checked out, and all changes together. */
async function reviewAll(
  trees: readonly string[],
  { whyNot, commits }: BranchApplication,
  top: string,
  asking: Asking,
): Promise<Reviewed[]> {
  const named = await namedByGit(top, top);
  const steps = trees.slice(1).map((tree, index) => [trees[index] as string, tree] as const);
  const pairs = commits.length === 0 ? steps : [...steps, [trees[0] as string, trees.at(-1) as string] as const];
  const found = new Map<string, Reviewed>();
  for (const [before, after] of pairs) {
    for (const { path: at, reviewed } of await reviewTrees(before, after, named, asking)) {
      const why = whyNot(at);
      if (why !== undefined) throw notApplied(`A commit of the agent changes ${printable(at)}, ${why}.`);
      if (reviewed && !found.has(at)) found.set(at, reviewed);
    }
  }
  return [...found.values()];
}

/** Writes the commit object itself, because `git commit-tree` would change names and messages. */
async function commitMade(
  { message, author, committer }: NewCommit,
  tree: string,
  parent: string,
  asking: Asking,
): Promise<string> {
  const text = [
    `tree ${tree}`,
    `parent ${parent}`,
    `author ${lineFor(author)}`,
    `committer ${lineFor(committer)}`,
    '',
    message,
  ].join('\n');
  const args = ['hash-object', '-t', 'commit', '-w', '--stdin'];
  const { code, stdout, stderr } = await askGit(args, { ...asking, input: text });
  if (code !== 0) throw notApplied("Git does not accept one of the agent's commits.", stderr);
  return stdout.toString().trim();
}

function lineFor({ name, email, date }: Signature): string {
  return `${plainName(name)} <${plainName(email)}> ${date}`;
}

function plainName(text: string): string {
  return text.replace(/[<>\p{Cc}]/gu, '');
}

/** Copies the new objects into the user's repository, then creates the branch. Git refuses if it exists by now. */
async function brought(top: string, { branch, base }: BranchApplication, tip: string, asking: Asking): Promise<void> {
  const { env: _, ...from } = asking;
  const pack = await git(['pack-objects', '--revs', '--stdout', '--quiet'], { ...from, input: `${tip}\n^${base}\n` });
  const into: Asking = { cwd: top, asUser: true, timeoutMs: STEP_MS };
  const taken = await askGit(['index-pack', '--stdin'], { ...into, input: pack });
  if (taken.code !== 0) throw gitFailed(['index-pack'], taken.stderr);
  const ref = `refs/heads/${branch}`;
  const args = ['update-ref', '--no-deref', '-m', 'proctor apply', ref, tip, '0'.repeat(tip.length)];
  const { code, stderr } = await askGit(args, into);
  if (code !== 0)
    throw notApplied(
      `Git cannot create the branch ${printable(branch)}, because another branch is in its way. Choose another name with --branch.`,
      stderr,
    );
}
