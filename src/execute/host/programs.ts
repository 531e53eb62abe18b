import { spawnSync } from 'node:child_process';
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  openSync,
  readSync,
  readdirSync,
  realpathSync,
  statSync,
} from 'node:fs';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { installationOf, isMachines, isShowable } from './installation.ts';

/** The folders of this machine in which Proctor searches for programs. */
export const MACHINE_FOLDERS = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/local/sbin', '/usr/sbin'] as const;

/** The Node that runs Proctor, if it is outside of the machine's folders. Every sandbox shows it. */
export const RUNNING_NODE: string | undefined =
  isMachines(process.execPath) || !isShowable(process.execPath) ? undefined : process.execPath;

/** The PATH that Proctor sets for programs, and searches itself. */
export const PATH_FOLDERS: readonly string[] = [
  ...(RUNNING_NODE ? [path.dirname(RUNNING_NODE)] : []),
  ...MACHINE_FOLDERS,
];

/** The full path of a program that a sandbox finds by its bare name. */
export function findProgram(name: string): string | undefined {
  if (!/^[A-Za-z0-9._+-]{1,64}$/.test(name)) return undefined;
  return withNode(name) ?? MACHINE_FOLDERS.map(folder => path.join(folder, name)).find(isExecutable);
}

/** Node outside of the machine's folders, and the programs that come with it. */
function withNode(name: string): string | undefined {
  if (!RUNNING_NODE || !['node', 'npm', 'npx', 'corepack'].includes(name)) return undefined;
  const place = path.join(path.dirname(RUNNING_NODE), name);
  const isShown = name === 'node' || installationOf(RUNNING_NODE) !== RUNNING_NODE;
  return isShown && isExecutable(place) ? place : undefined;
}

/** Whether a sandbox can run the program at a path: a program of the machine, or a binary that it can show. */
export function isProgram(file: string): boolean {
  if (!isExecutable(file)) return false;
  return isVisible(file) || (path.isAbsolute(file) && isShowable(file) && isElf(realpathSync(file)));
}

export function isVisible(file: string): boolean {
  return VISIBLE.some(folder => file.startsWith(folder));
}

const VISIBLE = ['/usr/', '/bin/', '/sbin/', '/nix/store/'];

export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

export interface Closure {
  /** Files and folders that have the same path inside the sandbox. */
  readonly files: readonly string[];
  readonly links: readonly { readonly target: string; readonly link: string }[];
}

/**
 * Programs and everything they load: libraries and, for interpreters, their standard libraries. The interpreter of a
 * script is included only if it is listed too, except for `env`, which only finds interpreters.
 */
export function closureOf(names: readonly string[]): Closure {
  const key = names.join(' ');
  const known = closures.get(key) ?? closed(names);
  closures.set(key, known);
  return known;
}

/** Programs do not change while a launcher runs, and querying the loader takes longer than a launch. */
const closures = new Map<string, Closure>();

function closed(names: readonly string[]): Closure {
  const files = new Set<string>();
  const links = new Map<string, string>();
  const places = names.map(findProgram).filter(place => place !== undefined);
  for (const found of [...places, ...interpretersOf(places)]) {
    const real = realpathSync(found);
    if (found !== real) links.set(found, real);
    // A packaged script such as npm loads the rest of its package.
    files.add(isElf(real) ? real : packageOf(real));
    const { folders, modules } = loadedBesides(path.basename(real));
    for (const folder of folders) files.add(folder);
    for (const library of librariesOf(isElf(real) ? [real, ...modules] : modules)) {
      const file = realpathSync(library);
      files.add(file);
      if (file !== library) links.set(library, file);
    }
  }
  return {
    files: [...files].sort(),
    links: [...links].map(([link, target]) => ({ link, target })),
  };
}

/**
 * The interpreters of scripts, by the path in the first line, such as /bin/sh for /usr/bin/sh. An unlisted one is
 * included only if it is a plain `env`, never a multi-call binary.
 */
function interpretersOf(places: readonly string[]): string[] {
  const named = new Set(places.map(place => realpathSync(place)));
  const interpreters = places.map(place => shebangOf(realpathSync(place))).filter(place => place !== undefined);
  return [...new Set(interpreters)].filter(place => {
    if (!isProgram(place)) return false;
    const real = realpathSync(place);
    return named.has(real) || path.basename(real) === 'env';
  });
}

/** Files that language runtimes load in addition to their linked libraries. */
function loadedBesides(program: string): { readonly folders: readonly string[]; readonly modules: readonly string[] } {
  if (/^np[mx]/.test(program))
    return { folders: ['/usr/share/nodejs', '/usr/share/npm'].filter(existsSync), modules: [] };
  if (!program.startsWith('python3')) return { folders: [], modules: [] };
  const folders = readdirSync('/usr/lib')
    .filter(name => /^python3(?:\.\d+)?$/.test(name))
    .map(name => path.join('/usr/lib', name));
  const modules = folders
    .map(folder => path.join(folder, 'lib-dynload'))
    .filter(existsSync)
    .flatMap(folder => readdirSync(folder).map(name => path.join(folder, name)))
    .filter(file => file.endsWith('.so'));
  return { folders, modules };
}

/** Queries the loader. Used only for the machine's own programs, never for those that a user supplies. */
function librariesOf(files: readonly string[]): string[] {
  if (files.length === 0) return [];
  // For a static program ldd fails, and there is nothing to load.
  const { stdout } = spawnSync('/usr/bin/ldd', files, { encoding: 'utf8', env: {}, timeout: 10_000 });
  return [...new Set([...stdout.matchAll(/(?:=> )?(\/\S+) \(0x/g)].map(([, file]) => file as string))];
}

/** The folder of the package that contains a file, or the file itself. */
export function packageOf(script: string): string {
  for (let folder = path.dirname(script); folder !== '/'; folder = path.dirname(folder)) {
    if (existsSync(path.join(folder, 'package.json'))) return folder;
  }
  return script;
}

export function isElf(file: string): boolean {
  const fd = openSync(file, 'r');
  try {
    const magic = Buffer.alloc(4);
    readSync(fd, magic, 0, 4, 0);
    return magic.equals(ELF);
  } catch (cause) {
    throw new Fault('program_unreadable', 'A program that the run may use is not readable.', { cause });
  } finally {
    closeSync(fd);
  }
}

/** The interpreter in the first line of a script. */
export function shebangOf(file: string): string | undefined {
  return /^#![ \t]*([^ \t\n]+)/.exec(firstLineOf(file))?.[1];
}

/** Up to 256 bytes, which is all that the kernel reads. */
export function firstLineOf(file: string): string {
  const fd = openSync(file, 'r');
  try {
    const bytes = Buffer.alloc(256);
    const length = readSync(fd, bytes, 0, bytes.length, 0);
    return bytes.toString('latin1', 0, length).split('\n', 1)[0] as string;
  } finally {
    closeSync(fd);
  }
}

const ELF = Buffer.from('\u007fELF');
