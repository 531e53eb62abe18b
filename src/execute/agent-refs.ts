import { lstatSync, readdirSync } from 'node:fs';
import path from 'node:path';
import type { RefChange } from '../contracts/agent-step/changes.ts';
import { readRegular } from '../base/regular.ts';
import type { Clone } from './clone.ts';

/** What became of the `.git` of a tree. */
export function gitFolderOf(top: string): 'kept' | 'gone' | 'replaced' {
  const stat = lstatSync(path.join(top, '.git'), { throwIfNoEntry: false });
  if (!stat) return 'gone';
  return stat.isDirectory() ? 'kept' : 'replaced';
}

/**
 * All refs of a git dir that somebody else wrote, read by ourselves and without following a link: full name to object,
 * or to null where it names none. `HEAD` is among them only where it is not on the branch of the run.
 */
export function refsIn(gitDir: string, branch: string): Map<string, string | null> {
  const raw = new Map<string, string>();
  for (const line of textOf(path.join(gitDir, 'packed-refs'), PACKED_BYTES_MAX).split('\n')) {
    const [, sha, name] = /^([0-9a-f]{40,64}) (refs\/.+)$/.exec(line) ?? [];
    if (sha !== undefined && name !== undefined && raw.size < REFS_MAX) raw.set(name, sha);
  }
  for (const name of looseIn(gitDir))
    if (raw.size < REFS_MAX) raw.set(name, textOf(path.join(gitDir, name), REF_BYTES_MAX));
  const head = textOf(path.join(gitDir, 'HEAD'), REF_BYTES_MAX);
  if (head.trim() !== `ref: refs/heads/${branch}`) raw.set('HEAD', head);
  return new Map([...raw.keys()].map(name => [name, resolved(raw, name)]));
}

const REFS_MAX = 10_000;
const REF_BYTES_MAX = 4_096;
const PACKED_BYTES_MAX = 16 * 1024 * 1024;

function textOf(file: string, bytesMax: number): string {
  return readRegular(file, bytesMax)?.toString() ?? '';
}

/** One ref may name another, and so on; not for ever. */
function resolved(raw: ReadonlyMap<string, string>, name: string): string | null {
  let text = raw.get(name)?.trim();
  for (let hops = 0; hops < 5 && text?.startsWith('ref: '); hops++) text = raw.get(text.slice('ref: '.length))?.trim();
  return text !== undefined && /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text) ? text : null;
}

function looseIn(gitDir: string): string[] {
  const names: string[] = [];
  const pending = ['refs'];
  for (let folder = pending.pop(), seen = 0; folder !== undefined; folder = pending.pop()) {
    if (lstatSync(path.join(gitDir, folder), { throwIfNoEntry: false })?.isDirectory() !== true) continue;
    for (const entry of entriesOf(path.join(gitDir, folder))) {
      if (++seen > REFS_MAX) return names;
      const name = `${folder}/${entry.name}`;
      if (entry.isDirectory() && name.length < NAME_CHARS_MAX) pending.push(name);
      else if (!entry.name.endsWith('.lock')) names.push(name);
    }
  }
  return names;
}

const NAME_CHARS_MAX = 2_000;

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

/** What is other than it was when the clone was made. */
export function refChanges(clone: Clone, now: ReadonlyMap<string, string | null>): RefChange[] {
  const own = `refs/heads/${clone.branch}`;
  const before = new Set([own, ...(clone.baseRef === 'HEAD' ? [] : [`refs/heads/${clone.baseRef}`])]);
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
