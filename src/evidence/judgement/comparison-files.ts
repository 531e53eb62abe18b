import { rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { writeAtomic } from '../../base/atomic.ts';
import { canonicalPieces } from '../../base/canonical.ts';
import { Fault } from '../../base/fault.ts';
import { fileHash } from '../../base/file-hash.ts';
import { modesIn } from '../../base/private.ts';
import { readRegular } from '../../base/regular.ts';
import { VERSION } from '../../base/version.ts';
import { type Comparison, comparison as contract } from '../../contracts/comparison/index.ts';
import { comparisonContradictions, type Foundation } from '../../contracts/judgement-seal/index.ts';
import type { Checker, SealedFile, Signer } from '../../contracts/seal/index.ts';
import { broken, changedSince, notSignedBy, readSeal, sealFileOf, type Untrusted, writeSeal } from './judgement.ts';
import { soundDocument } from '../document.ts';

const COMPARISON = 'comparison.json';

/** Writes a comparison and removes the old seal. `sealComparison` seals it once its reports exist. */
export function writeComparison(folder: string, comparison: Comparison): void {
  rmSync(path.join(folder, sealFileOf(COMPARISON)), { force: true });
  writeAtomic(path.join(folder, COMPARISON), canonicalPieces(comparison), modesIn(folder).file);
}

/** Seals a comparison together with its reports. */
export function sealComparison(
  folder: string,
  { comparison_id: id, generated_at: sealedAt }: Comparison,
  reports: readonly string[],
  restsOn: readonly Foundation[],
  signer: Signer | undefined,
): void {
  const files = [COMPARISON, ...reports].map(name => sealedFile(folder, name));
  const sealed = { kind: 'comparison', id, judgeVersion: VERSION, sealedAt, files, restsOn } as const;
  writeSeal(folder, COMPARISON, sealed, signer, modesIn(folder).file);
}

function sealedFile(folder: string, name: string): SealedFile {
  const file = path.join(folder, name);
  const sha256 = fileHash(file);
  const bytes = statSync(file, { throwIfNoEntry: false })?.size;
  if (sha256 === undefined || bytes === undefined) {
    throw new Fault('write_failed', `${name} was removed while Proctor wrote the comparison. Compare again.`);
  }
  return { path: name, sha256, bytes };
}

/**
 * Reads the comparison in a folder, or says why it cannot be trusted. With a key, the seal must be signed with that
 * key.
 */
export function readComparison(folder: string, key: Checker | undefined): Comparison | Untrusted {
  const sealed = readSeal(folder, COMPARISON);
  if (sealed.state !== 'sound') return sealed;
  const bytes = readRegular(path.join(folder, COMPARISON), contract.bytesMax);
  const why = changedSince(sealed, COMPARISON, bytes) ?? (key && notSignedBy(key, sealed.envelope));
  if (why !== undefined || !bytes) return broken(why ?? 'cannot be read');
  const comparison = soundDocument(bytes, contract) as Comparison | undefined;
  if (!comparison) return broken('violates its contract');
  for (const { message } of comparisonContradictions(sealed.statement, comparison)) {
    return broken(`has a seal that does not match: it ${message}`);
  }
  return comparison;
}
