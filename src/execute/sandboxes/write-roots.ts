import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import type { Job } from '../job.ts';
import { firstLine, saidBy } from '../lines.ts';
import { DISK, type Holder, quoted } from './holder.ts';
import { TMP_BYTES, writableIn } from './root.ts';

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
export async function layOutRoots({ stage, writeRoots }: Job, holder: Holder): Promise<void> {
  if (!writeRoots) return;
  const output = `${DISK}/output`;
  const folders = [`${DISK}/tmp`, output, ...writeRoots.map(root => `${output}/${root}`)];
  const steps = [
    'umask 022',
    `mkdir -p ${folders.map(quoted).join(' ')}`,
    `mount -t tmpfs -o size=${TMP_BYTES},mode=0755 tmp ${DISK}/tmp`,
    // Not as an argument of cp: those can be read by anybody.
    `cd ${quoted(path.join(stage, 'roots'))}`,
    // It complains of every file that does not fit, and nobody reads that before it is over.
    `{ cp -R . ${output} 2>/dev/null || { echo 'cp: no room for all files' >&2; false; }; }`,
    `chmod -R u+rwX ${output}`,
  ];
  holder.say(`(${steps.join(' && ')}) >&2 && echo ready || echo failed\n`);
  if ((await firstLine(holder.output(1))) === 'ready') return;
  throw new Fault('stage_failed', 'The files of the run could not be laid out in its work folder.', {
    cause: saidBy(holder.output(2)),
  });
}
