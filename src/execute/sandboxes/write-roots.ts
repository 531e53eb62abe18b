import { lstatSync, mkdirSync, readdirSync, rmdirSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { quoted } from '../../base/shell.ts';
import type { Job } from '../job.ts';
import { firstLine, saidBy } from '../lines.ts';
import { FD } from './descriptors.ts';
import { DISK, type Holder } from './holder.ts';
import { tmpBytesOf, writableIn } from './root.ts';

/** Where nothing may be written the whole folder is shown, so what every stage has in it and nobody laid out is taken out. */
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

/** A read-only folder gets the mount points of the roots that lie in it; inside, nobody could make them any more. */
export function makeMountPoints({ stage, staged, writeRoots = [] }: Job): void {
  if (!writeRoots.every(isBelow))
    throw new Fault('stage_failed', 'A place to write to is no path below the work folder.');
  try {
    for (const root of writableIn(writeRoots, staged).roots) {
      if (staged.includes(root.split('/')[0] as string)) mkdirSync(path.join(stage, 'work', root), { recursive: true });
    }
  } catch (cause) {
    throw new Fault('stage_failed', 'A place to write to lies where a file was laid out.', { cause });
  }
}

function isBelow(root: string): boolean {
  return root === '.' || root.split('/').every(name => !['', '.', '..'].includes(name) && !name.includes('\0'));
}

/** Makes the roots on the disk of a holder, with what they begin with. It counts like what the program writes itself. */
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
    `mkdir -p ${folders.map(quoted).join(' ')}`,
    `mount -t tmpfs -o size=${tmpBytesOf(job)},mode=0755 tmp ${DISK}/tmp`,
    // Not as an argument of cp: those can be read by anybody.
    `cd ${quoted(path.join(stage, 'roots'))}`,
    // It complains of every file that does not fit, and nobody reads that before it is over.
    `{ cp -R . ${output} 2>/dev/null || { echo 'cp: no room for all files' >&2; false; }; }`,
    `chmod -R u+rwX ${output}`,
  ];
  await done(`(${steps.join(' && ')}) >&2`, holder);
}

/**
 * Lays out what the program reads as its input: a file without a name on its own disk. It may open it anew and write to
 * it, as its user may; then it fills its own disk, and not that of the machine.
 */
export async function layOutInput({ stage, stdin }: Job, holder: Holder): Promise<void> {
  if (stdin === undefined) return;
  const copy = `${DISK}/.stdin`;
  const source = quoted(path.join(stage, stdin));
  await done(`cat <${source} >${copy} && exec ${FD.stdin}<${copy} && rm ${copy}`, holder);
}

async function done(script: string, holder: Holder): Promise<void> {
  holder.say(`${script} && echo ready || echo failed\n`);
  if ((await firstLine(holder.output(FD.answers))) === 'ready') return;
  throw new Fault('stage_failed', 'The files of the run could not be laid out in its work folder.', {
    cause: saidBy(holder.output(FD.errors)),
  });
}
