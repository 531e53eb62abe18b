import path from 'node:path';
import { readRegular } from '../../base/regular.ts';
import { isObject } from '../../contracts/kind.ts';
import { baseText } from '../../execute/worktree/check-tree.ts';
import type { Clone } from '../../execute/worktree/clone.ts';
import { placeIn, type TreeEntry } from '../../execute/worktree/tree.ts';
import type { BaseEntry } from '../../execute/worktree/tree-state.ts';
import { RUNNER_KEYS, scriptClosure, scriptsNamedIn } from '../../policy/check-scripts.ts';

/** A package.json of the base commit. */
export interface BasePackage {
  readonly path: string;
  readonly value: Json;
  readonly scripts: Json;
}

type Json = Readonly<Record<string, unknown>>;

/** The package.json files that a command may use: those of the work folder and the top, and those that differ. */
export async function basePackages(
  clone: Clone,
  base: ReadonlyMap<string, BaseEntry>,
  differs: (at: string) => boolean,
): Promise<BasePackage[]> {
  const own = [path.posix.join(clone.startIn, 'package.json'), 'package.json'];
  const others = [...base.keys()].filter(at => at.endsWith('/package.json') && !isInstalled(at) && differs(at));
  const packages: BasePackage[] = [];
  for (const at of new Set([...own.map(text => Buffer.from(text).toString('latin1')), ...others])) {
    if (packages.length === PACKAGES_MAX) break;
    const value = parsed(await baseText(clone, base.get(at)?.sha));
    if (value) packages.push({ path: at, value, scripts: isObject(value['scripts']) ? value['scripts'] : {} });
  }
  return packages;
}

const PACKAGES_MAX = 100;

function isInstalled(at: string): boolean {
  return at.split('/').includes('node_modules');
}

/** The scripts of a package that the texts run, directly or through others. */
export function scriptsRun({ scripts }: BasePackage, texts: readonly string[]): Set<string> {
  const known = Object.keys(scripts);
  return scriptClosure(
    texts.flatMap(text => scriptsNamedIn(text, known)),
    scripts,
  );
}

/** How the agent changed the scripts, runner keys and imports of the base commit, and the text that restores them. */
export function changedPackage(
  top: string,
  { path: at, value, scripts }: BasePackage,
  names: ReadonlySet<string>,
  entry: TreeEntry | undefined,
): { readonly change: 'changed' | 'deleted'; readonly text?: string } | undefined {
  if (!entry) return { change: 'deleted' };
  const bytes = entry.kind === 'file' ? readRegular(placeIn(top, at).toString(), PACKAGE_BYTES_MAX) : undefined;
  const left = parsed(bytes?.toString());
  if (!left) return { change: 'changed' };
  const own = isObject(left['scripts']) ? left['scripts'] : {};
  const imports = isObject(value['imports']) ? value['imports'] : {};
  const ownImports = isObject(left['imports']) ? left['imports'] : {};
  const mapped = Object.keys(imports);
  const isChanged =
    [...names].some(name => own[name] !== scripts[name]) ||
    RUNNER_KEYS.some(key => differ(left[key], value[key])) ||
    mapped.some(name => differ(ownImports[name], imports[name]));
  if (!isChanged) return undefined;
  const whole = {
    ...withKeys(left, value, RUNNER_KEYS),
    scripts: withKeys(own, scripts, [...names]),
    ...(mapped.length > 0 && { imports: { ...ownImports, ...imports } }),
  };
  return { change: 'changed', text: `${JSON.stringify(whole, null, 2)}\n` };
}

const PACKAGE_BYTES_MAX = 1024 * 1024;

function differ(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) !== JSON.stringify(other);
}

function parsed(text: string | undefined): Json | undefined {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A copy of the object with these keys taken from another one. */
function withKeys(object: Json, other: Json, keys: readonly string[]): Record<string, unknown> {
  const wanted = new Set(keys);
  const kept = Object.entries(object).filter(([key]) => !wanted.has(key));
  return Object.fromEntries([...kept, ...Object.entries(other).filter(([key]) => wanted.has(key))]);
}
