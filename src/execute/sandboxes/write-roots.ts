import { lstatSync, mkdirSync, readdirSync, rmdirSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { shellQuoted } from '../../base/shell.ts';
import type { Job } from '../job/job.ts';
import { firstLine, textSoFar } from '../job/lines.ts';
import { FD } from './descriptors.ts';
import { DISK, type Holder } from './holder.ts';
import { tmpBytesOf, writableIn } from './root.ts';

/** If nothing is writable, the sandbox mounts the whole folder, so empty standard folders are removed. */
export function removeUnstaged({ stage, staged, writeRoots }: Job): void {
  if (writeRoots?.length !== 0) return;
  for (const name of ['input', 'output'].filter(each => !staged.includes(each))) {
    const folder = path.join(stage, 'work', name);
    if (isEmptyFolder(folder)) rmdirSync(folder);
  }
}

function isEmptyFolder(folder: string): boolean {
  return lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() === true && readdirSync(folder).length === 0;
}

/** Creates mount points for roots inside read-only folders, because they cannot be created inside the sandbox. */
export function makeMountPoints({ stage, staged, writeRoots = [] }: Job): void {
  if (!writeRoots.every(isBelow)) throw new Fault('stage_failed', 'A write root must be a path below the work folder.');
  try {
    for (const root of writableIn(writeRoots, staged).roots) {
      if (staged.includes(root.split('/')[0] as string)) mkdirSync(path.join(stage, 'work', root), { recursive: true });
    }
  } catch (cause) {
    throw new Fault('stage_failed', 'A write root has the path of a staged file.', { cause });
  }
}

function isBelow(root: string): boolean {
  return root === '.' || root.split('/').every(name => !['', '.', '..'].includes(name) && !name.includes('\0'));
}

/**
 * Creates the roots on the holder's disk with their initial contents, which count towards the size of the work folder.
 */
export async function layOutRoots(job: Job, holder: Holder): Promise<void> {
  const { stage, writeRoots, home } = job;
  if (!writeRoots) return;
  const output = `${DISK}/output`;
  const folders = [
    `${DISK}/tmp`,
    output,
    ...(home ? [`${DISK}/home`] : []),
    ...writeRoots.map(root => `${output}/${root}`),
  ];
  const steps = [
    'umask 022',
    `mkdir -p ${folders.map(shellQuoted).join(' ')}`,
    `mount -t tmpfs -o size=${tmpBytesOf(job)},mode=0755 tmp ${DISK}/tmp`,
    // Not as an argument of cp, because every user can read a command line.
    `cd ${shellQuoted(path.join(stage, 'roots'))}`,
    // Discards cp's errors, one per file that does not fit, because they are not read until it ends.
    `{ cp -R . ${output} 2>/dev/null || { echo 'cp: not enough space for all files' >&2; false; }; }`,
    `chmod -R u+rwX ${output}`,
  ];
  await done(`(${steps.join(' && ')}) >&2`, holder);
}

/**
 * Copies the program's standard input to an unlinked file on the run's disk. The program may reopen the file and write
 * to it, but then fills only its own disk.
 */
export async function layOutInput({ stage, stdin }: Job, holder: Holder): Promise<void> {
  if (stdin === undefined) return;
  const copy = `${DISK}/.stdin`;
  const source = shellQuoted(path.join(stage, stdin));
  await done(`cat <${source} >${copy} && exec ${FD.stdin}<${copy} && rm ${copy}`, holder);
}

async function done(script: string, holder: Holder): Promise<void> {
  holder.say(`${script} && echo ready || echo failed\n`);
  if ((await firstLine(holder.output(FD.answers))) === 'ready') return;
  throw new Fault('stage_failed', "The run's files could not be copied into its work folder.", {
    cause: textSoFar(holder.output(FD.errors)),
  });
}
