import path from 'node:path';
import { readRegular } from '../../base/regular.ts';
import { sortedNames } from './folder.ts';
import type { Look } from './look.ts';

/** A script in the folder. */
export interface FoundScript {
  /** Relative to the folder. */
  readonly file: string;
  /** Whether it names case.json, so that it reads cases in Proctor's form. */
  readonly readsCases: boolean;
}

/** The scripts in the folder, `scripts` and `tools`: at most 20, those that read cases first. */
export function findScripts({ cwd }: Look): FoundScript[] {
  const files = FOLDERS.flatMap(folder =>
    sortedNames(path.join(cwd, folder)).map(name => path.posix.join(folder, name)),
  );
  const found = files.filter(file => NAME.test(file) && !CONFIG.test(file)).flatMap(file => scriptAt(cwd, file) ?? []);
  return found.sort((a, b) => Number(b.readsCases) - Number(a.readsCases)).slice(0, SCRIPTS_MAX);
}

/** Reads a script; undefined if it is a link, larger than 1 MiB or not a regular file. */
export function scriptAt(cwd: string, file: string): FoundScript | undefined {
  const bytes = readRegular(path.join(cwd, file), SCRIPT_BYTES_MAX);
  return bytes && { file, readsCases: bytes.includes('case.json') };
}

/** How to start a script: by its extension, as `run script` does. */
export function interpreterFor(file: string): string | undefined {
  return INTERPRETERS[path.extname(file)];
}

const INTERPRETERS: Readonly<Record<string, string>> = {
  '.py': 'python3',
  '.mjs': 'node',
  '.cjs': 'node',
  '.js': 'node',
  '.sh': 'sh',
};

const FOLDERS = ['', 'scripts', 'tools'];
/** Plain names only, because they go into a file that people read. */
const NAME = /^[\w./-]+\.(?:py|mjs|cjs|js|sh)$/;
const CONFIG = /\.config\.\w+$|(?:^|\/)\./;
const SCRIPTS_MAX = 20;
const SCRIPT_BYTES_MAX = 1024 * 1024;
