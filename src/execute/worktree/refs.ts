import { lstatSync } from 'node:fs';
import path from 'node:path';
import type { RefChange } from '../../contracts/agent-step/changes.ts';
import { readRegular } from '../../base/regular.ts';
import type { Clone } from './clone.ts';
import { isFolder, namesIn } from './tree.ts';

export function gitFolderOf(top: string): 'kept' | 'gone' | 'replaced' {
  const stat = lstatSync(path.join(top, '.git'), { throwIfNoEntry: false });
  if (!stat) return 'gone';
  return stat.isDirectory() ? 'kept' : 'replaced';
}

/** The refs of a git folder: full name to object ID, or null if it has none. */
export interface Refs {
  readonly found: ReadonlyMap<string, string | null>;
  /** There are more refs than the limit. Refs that existed before are always included. */
  readonly isCut: boolean;
}

/**
 * Reads all refs in an untrusted git folder without running git. Includes `HEAD` only if it is not on the run's branch.
 */
export function refsIn(gitDir: string, clone: Clone, refsMax: number): Refs {
  const raw = new Map<string, string>();
  const known = new Set([...clone.refs, ...clone.protectedRefs]);
  let isCut = false;
  const take = (name: string, text: () => string): void => {
    if (known.has(name) || raw.size < refsMax) raw.set(name, text());
    else isCut = true;
  };
  for (const line of textOf(path.join(gitDir, 'packed-refs'), PACKED_BYTES_MAX).split('\n')) {
    const [, sha, name] = /^([0-9a-f]{40,64}) (refs\/.+)$/.exec(line) ?? [];
    if (sha !== undefined && name !== undefined) take(name, () => sha);
  }
  for (const name of looseIn(gitDir, known, refsMax)) {
    if (name === undefined) isCut = true;
    else take(name, () => textOf(path.join(gitDir, name), REF_BYTES_MAX));
  }
  for (const name of headsOfOthers(gitDir)) take(name, () => textOf(path.join(gitDir, name), REF_BYTES_MAX));
  const head = textOf(path.join(gitDir, 'HEAD'), REF_BYTES_MAX);
  if (head.trim() !== `ref: refs/heads/${clone.branch}`) raw.set('HEAD', head);
  return { found: new Map([...raw.keys()].map(name => [name, resolved(raw, name)])), isCut };
}

const REF_BYTES_MAX = 4_096;
const PACKED_BYTES_MAX = 16 * 1024 * 1024;

function textOf(file: string, bytesMax: number): string {
  return readRegular(file, bytesMax)?.toString() ?? '';
}

/** Follows symbolic refs, at most five levels deep. */
function resolved(raw: ReadonlyMap<string, string>, name: string): string | null {
  let text = raw.get(name)?.trim();
  for (let hops = 0; hops < 5 && text?.startsWith('ref: '); hops++) text = raw.get(text.slice('ref: '.length))?.trim();
  return text !== undefined && /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text) ? text : null;
}

/**
 * The names of loose refs. Beyond the limit it yields only known names, and undefined for others, so that an agent
 * cannot hide a branch among thousands of refs.
 */
function* looseIn(gitDir: string, known: ReadonlySet<string>, refsMax: number): Generator<string | undefined> {
  const ways = new Set([...known].flatMap(foldersOf));
  const pending = ['refs'];
  for (let folder = pending.pop(), seen = 0; folder !== undefined; folder = pending.pop()) {
    const place = path.join(gitDir, folder);
    if (!isFolder(place)) continue;
    for (const each of namesIn(place, true) ?? []) {
      const name = `${folder}/${Buffer.from(each, 'latin1').toString()}`;
      const isTooMany = ++seen > refsMax;
      if (isTooMany && !known.has(name) && !ways.has(name)) yield undefined;
      else if (name.length < NAME_CHARS_MAX && isFolder(path.join(gitDir, name))) pending.push(name);
      else if (!name.endsWith('.lock')) yield name;
    }
  }
}

/** Each linked work tree of a repository has its own HEAD. */
function headsOfOthers(gitDir: string): string[] {
  const folder = path.join(gitDir, 'worktrees');
  const names = isFolder(folder) ? (namesIn(folder, true) ?? []) : [];
  return names
    .map(name => `worktrees/${Buffer.from(name, 'latin1').toString()}`)
    .filter(name => isFolder(path.join(gitDir, name)))
    .map(name => `${name}/HEAD`);
}

function foldersOf(name: string): string[] {
  const names = name.split('/');
  return names.slice(1).map((_, index) => names.slice(0, index + 1).join('/'));
}

const NAME_CHARS_MAX = 2_000;

export function refChanges(clone: Clone, now: ReadonlyMap<string, string | null>): RefChange[] {
  const own = `refs/heads/${clone.branch}`;
  const before = new Set(clone.refs);
  const guarded = new Set(clone.protectedRefs.filter(name => name !== own));
  const isProtected = (name: string): boolean => guarded.has(name);
  const seen = [...now].flatMap(([name, sha]): RefChange[] => {
    if (before.has(name))
      return sha === clone.baseSha ? [] : [{ name, change: 'moved', sha, isProtected: isProtected(name) }];
    return [{ name, change: name === 'HEAD' ? 'moved' : 'new', sha, isProtected: isProtected(name) }];
  });
  const gone = [...before]
    .filter(name => !now.has(name))
    .map((name): RefChange => ({ name, change: 'deleted', sha: null, isProtected: isProtected(name) }));
  return [...seen, ...gone].sort((a, b) => (a.name < b.name ? -1 : 1));
}
