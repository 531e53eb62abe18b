import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { packFile } from '../evidence/pack-file.ts';
import { changed, digestsIn, writeFolder } from '../evidence/unpack.ts';
import type { Options } from '../verify/index.ts';
import { verifyOpenPack } from '../verify/pack.ts';
import { changeOf, openRegular } from '../verify/source.ts';
import { refuseUnknown } from './options.ts';
import { firstTrouble } from './pack.ts';

export interface UnpackOptions {
  /** The folder that is made; the name of the run, in `cwd`, if not said. */
  readonly to?: string;
  readonly cwd?: string;
  /** Stops it, and leaves nothing. */
  readonly signal?: AbortSignal;
  /** How the pack is verified before anything is written. */
  readonly verify?: Options;
}

export interface UnpackedRun {
  readonly runId: string;
  readonly kind: string;
  readonly folder: string;
  readonly files: number;
  /** The internal files, which the pack does not hold, are not in the folder either. */
  readonly leftOut: number;
}

/** Makes the folder of the run in a pack, if the pack verifies. */
export async function unpack(file: string, options: UnpackOptions = {}): Promise<UnpackedRun> {
  if (typeof file !== 'string') throw new Fault('usage', 'unpack needs a pack: the path of a file.');
  refuseUnknown('unpack', options, OPTIONS);
  const { cwd = process.cwd(), signal } = options;
  const opened = openRegular(path.resolve(cwd, file));
  if (!opened.ok) throw new Fault(opened.code, `The pack cannot be read. ${opened.message}`);
  const pack = packFile(opened.fd);
  try {
    const trouble = await firstTrouble(verifyOpenPack(path.basename(file), pack, options.verify ?? {}), signal);
    if (trouble !== undefined)
      throw new Fault('not_valid', `The pack is not unpacked, because it does not verify: ${trouble}`);
    const { runId, kind, digests, leftOut } = digestsIn(pack);
    // These digests are those that were verified only if nobody has written into the pack since.
    if (changeOf(opened)) throw changed();
    const folder = path.resolve(cwd, options.to ?? runId);
    const files = await writeFolder(pack, folder, digests, signal);
    return { runId, kind, folder, files, leftOut };
  } finally {
    pack.close();
  }
}

const OPTIONS: Record<keyof UnpackOptions, true> = { to: true, cwd: true, signal: true, verify: true };
