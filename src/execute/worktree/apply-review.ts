import {
  constants,
  copyFileSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import type { ReviewedPath } from '../../contracts/agent-step/changes.ts';
import { needsReview, PROCTORS, type TreeView } from '../../policy/active-changes.ts';
import { askGit, type Asking } from './git.ts';
import { pathText, placeIn } from './tree.ts';
import { isThere, linkIn, REVIEWED_TEXT_BYTES_MAX } from './tree-review.ts';

export interface Reviewed extends ReviewedPath {
  /** The user cannot allow it. */
  readonly isForbidden: boolean;
}

/**
 * Finds files in a diff that would run automatically in the tree. Applies the diff to copies of the files, so that
 * symlinks, modes and texts are judged exactly as git leaves them.
 */
export async function reviewDiff(
  paths: readonly string[],
  top: string,
  repository: string | undefined,
  asking: Asking,
): Promise<Reviewed[]> {
  const touched = new Set(paths);
  const tried = await triedOn(paths, top, asking);
  try {
    const view: TreeView = {
      linkAt: at => linkIn(touched.has(at) ? tried : top, at),
      links: [...(await linksIn(top, repository, paths)), ...paths],
      has: at => touched.has(at) || isThere(top, at),
      textsOf: at => ({ before: textIn(top, at), after: textIn(tried, at) }),
      named: repository === undefined ? [] : await namedByGit(top, repository),
    };
    return [...needsReview(paths, view)].map(([at, reason]) => ({
      path: pathText(at).path,
      reason,
      isForbidden: reason === PROCTORS,
    }));
  } finally {
    rmSync(tried, { recursive: true, force: true });
  }
}

async function triedOn(paths: readonly string[], top: string, asking: Asking): Promise<string> {
  const folder = mkdtempSync(path.join(realpathSync(tmpdir()), 'proctor-apply-'));
  try {
    for (const at of new Set([...paths, ...attributesFor(paths)])) copyInto(folder, top, at);
    const env = { ...asking.env, GIT_CEILING_DIRECTORIES: path.dirname(folder) };
    const { code, stderr } = await askGit(['apply', '-'], { ...asking, cwd: folder, env });
    if (code === 0) return folder;
    throw new Fault('not_applied', 'The diff does not apply to copies of its files, so nothing was changed.', {
      cause: stderr,
    });
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Attributes affect how git reads and writes a file. */
function attributesFor(paths: readonly string[]): string[] {
  return foldersOf(paths).map(folder => (folder === '' ? '.gitattributes' : `${folder}/.gitattributes`));
}

function foldersOf(paths: readonly string[]): string[] {
  const folders = new Set(['']);
  for (const at of paths) {
    for (let end = at.lastIndexOf('/'); end > 0; end = at.lastIndexOf('/', end - 1)) folders.add(at.slice(0, end));
  }
  return [...folders];
}

function copyInto(folder: string, top: string, at: string): void {
  const [from, to] = [placeIn(top, at), placeIn(folder, at)];
  const stat = entryAt(from);
  if (!stat?.isFile() && !stat?.isSymbolicLink()) return;
  mkdirSync(placeIn(folder, path.posix.dirname(at)), { recursive: true });
  if (stat.isFile()) copyFileSync(from, to, constants.COPYFILE_FICLONE);
  else symlinkSync(Buffer.from(linkIn(top, at) ?? '', 'latin1'), to);
}

/** Does not follow symlinks. Undefined if a parent is a file. */
function entryAt(place: Buffer) {
  try {
    return lstatSync(place, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

function textIn(top: string, at: string): string | undefined {
  const place = placeIn(top, at);
  const stat = entryAt(place);
  if (!stat?.isFile()) return undefined;
  // Too large to compare.
  return stat.size > REVIEWED_TEXT_BYTES_MAX ? '' : readFileSync(place).toString();
}

/** Tracked symlinks, and symlinks in the parent folders of touched files. */
async function linksIn(top: string, repository: string | undefined, paths: readonly string[]): Promise<string[]> {
  const near = foldersOf(paths).flatMap(folder => {
    const place = placeIn(top, folder);
    if (!entryAt(place)?.isDirectory()) return [];
    return readdirSync(place, { encoding: 'buffer', withFileTypes: true }).flatMap(entry => {
      const name = entry.name.toString('latin1');
      return entry.isSymbolicLink() ? [folder === '' ? name : `${folder}/${name}`] : [];
    });
  });
  if (repository === undefined) return near;
  const { stdout } = await askGit(['ls-files', '--stage', '-z'], { cwd: top, asUser: true });
  const tracked = stdout
    .toString('latin1')
    .split('\0')
    .flatMap(line => /^120000 [0-9a-f]+ \d\t(.*)$/s.exec(line)?.[1] ?? []);
  return [...new Set([...near, ...tracked])];
}

/**
 * Files and folders in the tree that the user's git runs or reads: its configuration names them, or its hooks folder
 * links to them.
 */
export async function namedByGit(top: string, repository: string): Promise<string[]> {
  const asking: Asking = { cwd: repository, asUser: true };
  const common = await askGit(['rev-parse', '--path-format=absolute', '--git-common-dir'], asking);
  const gitDir = common.stdout.toString().replace(/\n$/, '');
  const { stdout } = await askGit(
    ['config', '--show-scope', '-z', '--get-regexp', String.raw`^(core\.hookspath|include\.path|includeif\..*\.path)$`],
    asking,
  );
  // Each entry is a scope, then a key, a line feed and a value. Proctor sets those of scope `command`.
  const words = stdout.toString().split('\0');
  const values = words.flatMap((word, index) => {
    const end = word.indexOf('\n');
    return index % 2 === 0 || end === -1 || words[index - 1] === 'command' ? [] : [word.slice(end + 1)];
  });
  const named = values.flatMap(value => {
    const name = value.replace(/^~(?=\/|$)/, homedir());
    return [path.resolve(repository, name), path.resolve(gitDir, name)];
  });
  const hooks = path.join(gitDir, 'hooks');
  return [...named, hooks, ...namesAt(hooks).map(name => path.join(hooks, name))].flatMap(place =>
    belowTop(top, place),
  );
}

function namesAt(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** A path relative to the tree, with symlinks resolved. Empty if it is outside or in `.git`. */
function belowTop(top: string, place: string): string[] {
  let real: string;
  try {
    real = realpathSync(place);
  } catch {
    // It does not exist yet. The diff may create it.
    real = place;
  }
  const below = path.relative(top, real);
  const isInside = below !== '' && below !== '..' && !below.startsWith('../') && !/^\.git(?:\/|$)/.test(below);
  return isInside ? [Buffer.from(below).toString('latin1')] : [];
}
