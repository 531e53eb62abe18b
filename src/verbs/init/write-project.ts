import { closeSync, fsyncSync, lstatSync, openSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { writeAtomic } from '../../base/atomic.ts';
import { Fault, fullDisk } from '../../base/fault.ts';
import { makeFolders } from '../../base/private.ts';
import { readRegular } from '../../base/regular.ts';
import { SMALL_FILE_BYTES_MAX } from './folder.ts';
import { type PlannedFile, PROJECT } from './plan.ts';

/** Writes all files of a project, or none. Never replaces a file; .gitignore only gets a line. */
export function writeProject(cwd: string, files: readonly PlannedFile[], ignore: Ignoring): WrittenFile[] {
  refuseExisting(cwd, files);
  const ignored = ignoredIn(cwd, ignore);
  const undo: (() => void)[] = [];
  try {
    for (const { file, text } of files) {
      const first = makeFolders(path.join(cwd, path.dirname(file)), 0o777);
      if (first !== undefined) undo.push(() => rmdirSync(first));
      writeNew(path.join(cwd, file), text, () => undo.push(() => rmSync(path.join(cwd, file))));
    }
    if (ignored) writeAtomic(path.join(cwd, IGNORE), ignored.bytes, ignored.mode);
  } catch (cause) {
    for (const step of undo.reverse()) attempt(step);
    if (cause instanceof Fault) throw cause;
    throw new Fault('write_failed', `Nothing was written, because this folder accepts no files${fullDisk(cause)}.`, {
      cause,
    });
  }
  return [
    ...files.map(({ file, purpose }) => ({ file, purpose, action: 'created' as const })),
    ...(ignored ? [{ file: IGNORE, purpose: 'keeps .proctor/ out of git', action: ignored.action }] : []),
  ];
}

/** Keeps a folder that now has other files. */
function attempt(step: () => void): void {
  try {
    step();
  } catch {
    // The fault that led here matters more.
  }
}

/** What to do about .gitignore. `if_missing` leaves an existing one alone. */
export type Ignoring = 'always' | 'if_missing';

export interface WrittenFile {
  readonly file: string;
  readonly purpose: string;
  readonly action: 'created' | 'changed';
}

/** Refuses to continue if a file is in the way, and names it. A link counts too, even if it is broken. */
export function refuseExisting(cwd: string, files: readonly Pick<PlannedFile, 'file'>[]): void {
  const taken = files.map(({ file }) => file).filter(file => statOf(cwd, file) !== undefined);
  if (taken.includes(PROJECT))
    throw new Fault(
      'already_there',
      `${PROJECT} already exists, so this folder is set up: run \`proctor test\`. To start over, remove ${listed(taken)} first.`,
    );
  if (taken.length > 0)
    throw new Fault('already_there', `init never overwrites a file. Remove or rename ${listed(taken)} first.`);
  const folders = new Set(files.map(({ file }) => path.posix.dirname(file)));
  for (const folder of folders) {
    if (folder !== '.' && statOf(cwd, folder)?.isDirectory() === false)
      throw new Fault(
        'already_there',
        `${folder} is a link or a file, but init needs a folder there. Rename it first.`,
      );
  }
}

function statOf(cwd: string, file: string) {
  return lstatSync(path.join(cwd, file), { throwIfNoEntry: false });
}

function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

function writeNew(file: string, text: string, created: () => void): void {
  const fd = openSync(file, 'wx', 0o666);
  created();
  try {
    writeFileSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

const IGNORE = '.gitignore';

interface IgnoredChange {
  readonly bytes: Buffer;
  readonly mode: number;
  readonly action: WrittenFile['action'];
}

/** The new .gitignore; undefined if it has the line, or is not a regular file of at most 256 KiB. */
function ignoredIn(cwd: string, ignore: Ignoring): IgnoredChange | undefined {
  const stat = statOf(cwd, IGNORE);
  if (!stat) return { bytes: Buffer.from(LINE), mode: 0o666, action: 'created' };
  const bytes = ignore === 'always' ? readRegular(path.join(cwd, IGNORE), SMALL_FILE_BYTES_MAX) : undefined;
  if (!bytes || /^\/?\.proctor\/?\s*$/m.test(bytes.toString('latin1'))) return undefined;
  const isEnded = bytes.length === 0 || bytes.at(-1) === 0x0a;
  return {
    bytes: Buffer.concat([bytes, Buffer.from(isEnded ? LINE : `\n${LINE}`)]),
    mode: stat.mode & 0o777,
    action: 'changed',
  };
}

const LINE = '.proctor/\n';
