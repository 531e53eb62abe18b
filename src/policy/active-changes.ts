import { foldedNames } from '../base/path.ts';
import { ACTIVE_FILES, type ActiveFiles } from './active-files.ts';

/** A work tree as it is, or would be, after the changes. Its paths have one character for each byte. */
export interface TreeView {
  /** Where a link leads, as it says; undefined of what is no link. */
  readonly linkAt: (path: string) => string | undefined;
  /** Links that are there, as far as they are known. */
  readonly links: readonly string[];
  readonly has: (path: string) => boolean;
  /** The text of a file before and after the changes; undefined where nobody can say. */
  readonly textsOf: (path: string) => Texts | undefined;
  /** Files and folders that the settings of git name as hooks or further settings. */
  readonly named?: readonly string[];
}

interface Texts {
  /** Undefined where there was, or is, none. */
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** Changes that need review before they are applied, each with its reason, in the order of the paths given. */
export function needsReview(paths: Iterable<string>, view: TreeView): Map<string, string> {
  const aliases = aliasesIn(view);
  const found = new Map<string, string>();
  for (const path of paths) {
    const reason = reasonFor(path, view, aliases);
    if (reason !== undefined) found.set(path, reason);
  }
  return found;
}

/** Whether only parts of a file run by themselves, so that its text decides. */
export function hasActiveParts(path: string): boolean {
  return entryFor(namesOf(path))?.partsOf !== undefined;
}

/** Whether some file system takes a path for one in a folder of Proctor's, which no run may change. */
export function isProctors(path: string): boolean {
  return namesOf(path).some(name => name === '.proctor' || /^procto~\d+$/.test(name));
}

export const PROCTORS = 'Proctor keeps evidence there, and apply never writes to it';

function reasonFor(path: string, view: TreeView, aliases: readonly Alias[]): string | undefined {
  const target = view.linkAt(path);
  const place = target === undefined ? undefined : leadsTo(path, target, view.linkAt);
  const paths = [path, ...aliases.flatMap(alias => renamed(path, alias) ?? [])];
  if ([...paths, target ?? '', place ?? ''].some(isProctors)) return PROCTORS;
  for (const each of paths) {
    const names = namesOf(each);
    const entry = entryFor(names);
    const reason = entry?.partsOf ? partsReason(entry, view.textsOf(path)) : entry?.runs;
    if (reason !== undefined) return reason;
    const held = target === undefined ? undefined : entryBelow(names);
    if (held) return `it is a link in the place of a folder, and ${held.runs}`;
  }
  if (target !== undefined) return linkReason(target, place);
  if (view.named?.some(place => path === place || path.startsWith(`${place}/`))) {
    return 'the settings of your git name it as a hook or as further settings';
  }
  const names = namesOf(path);
  if (REPOSITORY.has(names.at(-1) ?? '') && view.has(beside(path, 'HEAD'))) {
    return 'git takes the folder for a repository, and runs what its settings name';
  }
  return names.some(name => SHORT_NAME.test(name))
    ? 'some file systems take its short name for another file'
    : undefined;
}

/** Settings of a repository that lies in the tree as a folder of its own. */
const REPOSITORY: ReadonlySet<string> = new Set(['config', 'config.worktree', 'commondir']);

/** As vfat and NTFS make it for a longer one, such as `CLAUDE~1`. */
const SHORT_NAME = /^[^.~]{1,6}~\d{1,4}(?:\.[^.]{0,3})?$/;

function linkReason(target: string, place: string | undefined): string | undefined {
  if (place === undefined) return 'it is a link that leaves the tree';
  const isGit = [target, place].some(each => namesOf(each).some(name => name === '.git' || /^git~\d+$/.test(name)));
  return isGit ? 'it is a link into .git' : undefined;
}

/** What of a file runs by itself and is new, or another than before. */
function partsReason({ partsOf, runs }: ActiveFiles, texts: Texts | undefined): string | undefined {
  if (!texts || !partsOf) return `${runs}; its parts could not be compared`;
  try {
    const before = partsOrNone(texts.before, partsOf);
    const after = texts.after === undefined ? NONE : partsOf(texts.after);
    const changed = [...after].filter(([name, part]) => before.get(name) !== part).map(([name]) => name);
    return changed.length === 0 ? undefined : `${runs}: ${changed.slice(0, PARTS_MAX).join(', ')}`;
  } catch {
    return `${runs}; it is no JSON that can be read`;
  }
}

const NONE: ReadonlyMap<string, string> = new Map();
const PARTS_MAX = 10;

/** What could not be read before ran nothing. */
function partsOrNone(text: string | undefined, partsOf: NonNullable<ActiveFiles['partsOf']>) {
  try {
    return text === undefined ? NONE : partsOf(text);
  } catch {
    return NONE;
  }
}

/** A second way to a place in the tree, through a link in the place of an active file or of a folder that holds some. */
interface Alias {
  readonly link: string;
  readonly place: string;
}

function aliasesIn({ links, linkAt }: TreeView): Alias[] {
  return links.flatMap(link => {
    const names = namesOf(link);
    const target = entryFor(names) || entryBelow(names) || isProctors(link) ? linkAt(link) : undefined;
    const place = target === undefined ? undefined : leadsTo(link, target, linkAt);
    return place === undefined ? [] : [{ link, place }];
  });
}

/** A path as it is called through a link; undefined where it cannot be reached that way. */
function renamed(path: string, { link, place }: Alias): string | undefined {
  const [names, around] = [path.split('/'), place === '' ? [] : place.split('/')];
  const isBelow = around.every((name, index) => namesOf(name).join() === namesOf(names[index] ?? '').join());
  return isBelow && path !== link ? [link, ...names.slice(around.length)].join('/') : undefined;
}

/** The place in the tree that a link leads to, through other links; undefined where it leaves the tree, or goes in a circle. */
function leadsTo(path: string, target: string, linkAt: TreeView['linkAt']): string | undefined {
  const at = path.split('/').slice(0, -1);
  const ahead = [target];
  for (let hops = 0; ahead.length > 0; ) {
    const text = ahead.pop() as string;
    if (text.startsWith('/')) return undefined;
    const [name = '', ...rest] = text.split('/');
    if (rest.length > 0) ahead.push(rest.join('/').replace(/^\/+/, ''));
    if (name === '' || name === '.') continue;
    if (name === '..') {
      if (at.pop() === undefined) return undefined;
      continue;
    }
    at.push(name);
    const next = linkAt(at.join('/'));
    if (next === undefined) continue;
    if (++hops > HOPS_MAX) return undefined;
    at.pop();
    ahead.push(next);
  }
  return at.join('/');
}

/** As many links as Linux follows. */
const HOPS_MAX = 40;

function beside(path: string, name: string): string {
  return [...path.split('/').slice(0, -1), name].join('/');
}

function namesOf(path: string): string[] {
  return foldedNames(Buffer.from(path, 'latin1').toString());
}

interface Pattern {
  readonly names: readonly RegExp[];
  readonly isFolder: boolean;
  readonly entry: ActiveFiles;
}

const PATTERNS: readonly Pattern[] = ACTIVE_FILES.flatMap(entry =>
  entry.paths.map(path => ({
    names: foldedNames(path).map(
      name => new RegExp(`^${name.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*')}$`, 's'),
    ),
    isFolder: path.endsWith('/'),
    entry,
  })),
);

/** Patterns that a path with a name like this may match, remembered: most names come again and again. */
function patternsAt(name: string, remembered: Map<string, readonly Pattern[]>): readonly Pattern[] {
  let found = remembered.get(name);
  if (!found) {
    found = PATTERNS.filter(({ names: [first] }) => first?.test(name));
    if (remembered.size < REMEMBERED_MAX) remembered.set(name, found);
  }
  return found;
}

const REMEMBERED_MAX = 10_000;
const REMEMBERED = new Map<string, readonly Pattern[]>();

/** The entry of the table that names a path. */
function entryFor(names: readonly string[]): ActiveFiles | undefined {
  for (const [index, name] of names.entries()) {
    const match = patternsAt(name, REMEMBERED).find(
      ({ names: wanted, isFolder }) =>
        wanted.every((each, offset) => each.test(names[index + offset] ?? '')) &&
        (isFolder || index + wanted.length === names.length),
    );
    if (match) return match.entry;
  }
  return undefined;
}

/** The entry of the table that names something below a path. */
function entryBelow(names: readonly string[]): ActiveFiles | undefined {
  for (const [index, name] of names.entries()) {
    const match = patternsAt(name, REMEMBERED).find(({ names: wanted }) => {
      const rest = names.slice(index);
      return rest.length < wanted.length && rest.every((each, offset) => wanted[offset]?.test(each));
    });
    if (match) return match.entry;
  }
  return undefined;
}
