import { readdirSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import type { AgentAdapter } from '../../adapters/agent.ts';
import { type ContextPlaces, importsIn, type ProjectContext, type Skill } from '../../adapters/context.ts';
import { bytesHash } from '../../base/hash.ts';
import { unsafePath } from '../../base/path.ts';
import { readRegular } from '../../base/regular.ts';
import { CONTEXT_FILES_MAX, type ProjectContextNote } from '../../contracts/agent-step/project-context.ts';
import type { Clone } from '../../execute/worktree/clone.ts';

export interface FoundContext {
  /** Undefined if the project has none; null if the caller excludes it. */
  readonly given: ProjectContext | null | undefined;
  readonly told: ProjectContextNote;
}

/**
 * Finds the project's instructions in the commit that the agent gets. Ignores the project's settings, hooks, servers
 * and permissions, because they would change the policy.
 */
export function projectContext(adapter: AgentAdapter, clone: Clone, isWanted: boolean): FoundContext {
  if (!isWanted) return { given: null, told: { state: 'left_out', total: 0, files: [] } };
  const folders = onTheWay(clone.startIn);
  const tree = new CommittedTree(clone.tree);
  const found = new Map<string, Buffer>();
  const take = (file: string): boolean => {
    const bytes = found.get(file) ?? tree.read(file);
    if (bytes) found.set(file, bytes);
    return bytes !== undefined;
  };
  for (const folder of folders) takeInstructions(adapter.context, folder, tree, take);
  if (adapter.context.imports) takeImports(found, clone.startIn, take);
  const skills = skillsIn(adapter.context, folders, tree, take);
  return {
    given: found.size === 0 ? undefined : { folders: folders.map(inside), skills },
    told: toldOf(found),
  };
}

function takeInstructions(
  { instructions, rules }: ContextPlaces,
  folder: string,
  tree: CommittedTree,
  take: (file: string) => boolean,
): void {
  for (const names of instructions) names.some(name => take(path.posix.join(folder, name)));
  for (const rule of rules) {
    const below = path.posix.join(folder, rule);
    for (const name of tree.list(below, true)) if (name.endsWith('.md')) take(path.posix.join(below, name));
  }
}

/** Follows imports as deep as the agent does, but never outside the work folder. */
function takeImports(found: ReadonlyMap<string, Buffer>, startIn: string, take: (file: string) => boolean): void {
  let files = [...found.keys()];
  for (let depth = 0; depth < IMPORT_DEPTH_MAX && files.length > 0; depth++) {
    const imported = files.flatMap(file =>
      importsIn(String(found.get(file))).map(name => path.posix.join(path.posix.dirname(file), name)),
    );
    files = [...new Set(imported)]
      .filter(file => startIn === '.' || file.startsWith(`${startIn}/`))
      .filter(file => !found.has(file) && take(file));
  }
}

/** If two skills have the same name, the folder closer to the work folder wins. */
function skillsIn(
  { skills }: ContextPlaces,
  folders: readonly string[],
  tree: CommittedTree,
  take: (file: string) => boolean,
): Skill[] {
  const named = new Map<string, Skill>();
  for (const below of folders.flatMap(folder => skills.map(name => path.posix.join(folder, name)))) {
    for (const name of tree.list(below, false)) {
      const folder = path.posix.join(below, name);
      const file = path.posix.join(folder, 'SKILL.md');
      if (!/^\w[\w.-]{0,63}$/.test(name) || (!named.has(name) && named.size >= SKILLS_MAX) || !take(file)) continue;
      named.set(name, { name, folder: inside(folder), text: String(tree.read(file)) });
    }
  }
  return [...named.values()];
}

function toldOf(found: ReadonlyMap<string, Buffer>): ProjectContextNote {
  const files = [...found]
    .filter(([file]) => unsafePath(file) === undefined)
    .map(([file, bytes]) => ({ path: file, sha256: bytesHash(bytes), bytes: bytes.length }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
  return { state: 'offered', total: files.length, files: files.slice(0, CONTEXT_FILES_MAX) };
}

/** `.`, `a`, `a/b` for `a/b`. */
function onTheWay(startIn: string): string[] {
  if (startIn === '.') return ['.'];
  const names = startIn.split('/');
  return ['.', ...names.map((_, index) => names.slice(0, index + 1).join('/'))];
}

function inside(folder: string): string {
  return path.posix.join('/work', folder);
}

/** The tree of a clone before the agent runs. Follows symlinks that stay inside it. */
class CommittedTree {
  readonly #top: string;
  #listed = 0;

  constructor(tree: string) {
    this.#top = realpathSync(tree);
  }

  read(file: string): Buffer | undefined {
    const real = this.#real(file);
    return real === undefined ? undefined : readRegular(real, FILE_BYTES_MAX);
  }

  /** The sorted names in a folder. */
  list(folder: string, isDeep: boolean): string[] {
    const real = this.#real(folder);
    if (real === undefined || !statSync(real).isDirectory()) return [];
    const names: string[] = [];
    for (const name of readdirSync(real).sort()) {
      if (++this.#listed > ENTRIES_MAX) break;
      names.push(name);
      if (isDeep && !name.endsWith('.md'))
        names.push(...this.list(path.posix.join(folder, name), true).map(below => `${name}/${below}`));
    }
    return names;
  }

  #real(file: string): string | undefined {
    try {
      const real = realpathSync(path.join(this.#top, file));
      const [first = ''] = path.relative(this.#top, real).split(path.sep);
      return first === '..' || first === '.git' ? undefined : real;
    } catch {
      return undefined;
    }
  }
}

const FILE_BYTES_MAX = 1024 * 1024;
const ENTRIES_MAX = 2_000;
const SKILLS_MAX = 100;
const IMPORT_DEPTH_MAX = 5;
