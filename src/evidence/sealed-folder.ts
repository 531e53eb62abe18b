import { closeSync } from 'node:fs';
import path from 'node:path';
import { setImmediate as others } from 'node:timers/promises';
import { openHash } from '../base/file-hash.ts';
import { readJson } from '../base/json.ts';
import { printable } from '../base/printable.ts';
import { openBelow, readRegular } from '../base/regular.ts';
import { openSeal, seal, type SealStatement } from '../contracts/seal/index.ts';
import { SEAL } from './finish.ts';

interface Sealed {
  /** What differs from the seal, as a sentence without a full stop; undefined if nothing does. */
  readonly trouble: string | undefined;
  /** The folder contains check scripts that judge cases. */
  readonly hasChecks: boolean;
}

/** Compares the files of a folder with its seal. Faster than verification, and enough to build on the run. */
export async function sealTrouble(folder: string): Promise<Sealed> {
  const subject = sealedFiles(folder);
  if (!subject) return { trouble: 'it has no seal that can be read', hasChecks: false };
  const hasChecks = subject.some(({ name }) => name.startsWith('assets/check_'));
  let count = 0;
  for (const { name, digest, annotations } of subject) {
    if (!isTheSame(folder, name, annotations.size_bytes, digest.sha256)) {
      return { trouble: `${printable(name)} is missing or was changed`, hasChecks };
    }
    if (++count % 256 === 0) await others();
  }
  return { trouble: undefined, hasChecks };
}

/** The files that a seal lists; undefined if it cannot be read. Does not retain the seal itself, which can be 20 MB. */
function sealedFiles(folder: string): SealStatement['subject'] | undefined {
  const bytes = readRegular(path.join(folder, SEAL), seal.bytesMax);
  const reading = bytes && readJson(bytes, { bytesMax: seal.bytesMax });
  const opened = reading?.ok ? openSeal(reading.value) : undefined;
  return opened?.ok ? opened.statement.subject : undefined;
}

function isTheSame(folder: string, name: string, bytes: number, sha256: string): boolean {
  let fd: number | undefined;
  try {
    const opened = openBelow(folder, name);
    fd = opened.fd;
    return opened.stat.isFile() && opened.stat.size === bytes && openHash(fd) === `sha256:${sha256}`;
  } catch {
    return false;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
