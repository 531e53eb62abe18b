import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { packFile } from '../evidence/pack/pack-file.ts';
import { packChanged, digestsIn, writeFolder } from '../evidence/pack/unpack.ts';
import type { Options } from '../verify/index.ts';
import { verifyOpenPack } from '../verify/pack.ts';
import { fileChange, openForReading } from '../verify/source.ts';
import { refuseUnknown } from './options.ts';
import { firstViolation } from './pack.ts';

export interface UnpackOptions {
  /** The folder to create; the run id in `cwd` by default. */
  readonly to?: string;
  readonly cwd?: string;
  /** Stops the work and leaves nothing behind. */
  readonly signal?: AbortSignal;
  /** Options for verifying the pack before anything is written. */
  readonly verify?: Options;
}

export interface UnpackedRun {
  readonly runId: string;
  readonly kind: string;
  readonly folder: string;
  readonly files: number;
  /** The number of internal files that neither the pack nor the folder contains. */
  readonly leftOut: number;
}

/** Extracts the run folder from a pack if the pack verifies. */
export async function unpack(file: string, options: UnpackOptions = {}): Promise<UnpackedRun> {
  if (typeof file !== 'string') throw new Fault('usage', 'unpack requires a pack: the path of a file.');
  refuseUnknown('unpack', options, OPTIONS);
  const { cwd = process.cwd(), signal } = options;
  const opened = openForReading(path.resolve(cwd, file));
  if (!opened.ok) throw new Fault(opened.code, `Cannot read the pack. ${opened.message}`);
  const pack = packFile(opened.fd);
  try {
    const trouble = await firstViolation(verifyOpenPack(path.basename(file), pack, options.verify ?? {}), signal);
    if (trouble !== undefined)
      throw new Fault('not_valid', `Cannot unpack, because the pack does not verify: ${trouble}`);
    const { runId, kind, digests, leftOut } = digestsIn(pack);
    // The digests are valid only if the pack has not changed since it was verified.
    if (fileChange(opened)) throw packChanged();
    const folder = path.resolve(cwd, options.to ?? runId);
    const files = await writeFolder(pack, folder, digests, signal);
    return { runId, kind, folder, files, leftOut };
  } finally {
    pack.close();
  }
}

const OPTIONS: Record<keyof UnpackOptions, true> = { to: true, cwd: true, signal: true, verify: true };
