import { lstatSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { writeAtomic } from '../../base/atomic.ts';
import { canonicalize } from '../../base/canonical.ts';
import { instantText } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { fileHash } from '../../base/file-hash.ts';
import { bytesHash } from '../../base/hash.ts';
import { readJson } from '../../base/json.ts';
import { printable } from '../../base/printable.ts';
import { readRegular } from '../../base/regular.ts';
import { expiry, type ExpiryStatement, expiryStatement, openExpiry } from '../../contracts/expiry/index.ts';
import {
  openSeal,
  seal,
  sealDocument,
  type SealedFile,
  type SealEnvelope,
  type Signer,
} from '../../contracts/seal/index.ts';
import { SEAL } from './finish.ts';

/** The note about files that were removed from a sealed run folder. */
export const EXPIRED = 'evidence/expired.json';

export interface Expiring {
  /** Which of the sealed files expire. */
  readonly isWanted: (name: string) => boolean;
  readonly nowMs: number;
  readonly signer: Signer | undefined;
}

/**
 * Removes files from a sealed run folder, so that the folder still verifies: a note, signed like the seal, lists what
 * was removed. The note is there before the first file goes. Returns the number of files that expired.
 */
export function expireFiles(folder: string, { isWanted, nowMs, signer }: Expiring): number {
  const sealed = sealedIn(folder);
  const { statement, envelope, sha256 } = sealed;
  checkSigner(envelope, signer);
  const before = noteIn(folder)?.subject ?? [];
  const known = new Set(before.map(({ name }) => name));
  const expiring = statement.subject.filter(({ name }) => isWanted(name) && !known.has(name));
  for (const { name, digest } of expiring) {
    const file = path.join(folder, name);
    if (lstatSync(file, { throwIfNoEntry: false }) && fileHash(file) !== `sha256:${digest.sha256}`)
      throw new Fault('not_as_sealed', `${printable(name)} changed after the run was sealed, so it does not expire.`);
  }
  if (expiring.length > 0) {
    const files = [...before, ...expiring].map(fileOf);
    const expiredAt = instantText(nowMs);
    const note = expiryStatement({ runId: statement.predicate.run_id, sealSha256: sha256, expiredAt, files });
    writeAtomic(
      path.join(folder, EXPIRED),
      canonicalize(sealDocument(note, envelope.signatures.length > 0 ? signer : undefined)),
    );
  }
  // Also those of an earlier note, whose process may have died before it removed them.
  for (const { name } of [...before, ...expiring]) if (isWanted(name)) removeFile(folder, name);
  return expiring.length;
}

/** The names of the files that the note of a folder lists; empty without a readable note. */
export function expiredIn(folder: string): ReadonlySet<string> {
  return new Set(noteIn(folder)?.subject.map(({ name }) => name));
}

function noteIn(folder: string): ExpiryStatement | undefined {
  return openExpiry(jsonIn(readRegular(path.join(folder, EXPIRED), expiry.bytesMax), expiry.bytesMax))?.statement;
}

function sealedIn(folder: string) {
  const bytes = readRegular(path.join(folder, SEAL), seal.bytesMax);
  const envelope = jsonIn(bytes, seal.bytesMax);
  const opened = openSeal(envelope);
  if (!bytes || !opened.ok) throw new Fault('not_sealed', 'The run has no readable seal, so nothing in it expires.');
  return { statement: opened.statement, envelope: envelope as SealEnvelope, sha256: bytesHash(bytes) };
}

function jsonIn(bytes: Buffer | undefined, bytesMax: number): unknown {
  const reading = bytes && readJson(bytes, { bytesMax });
  return reading?.ok ? reading.value : undefined;
}

/** Without the key of the seal, the folder would no longer verify. */
function checkSigner(envelope: SealEnvelope, signer: Signer | undefined): void {
  if (envelope.signatures.length === 0) return;
  if (signer?.hasSigned(envelope) === 'right') return;
  throw new Fault(
    'no_signing_key',
    'The files of a signed run do not expire without its signing key, because the folder would no longer verify.',
  );
}

function fileOf({ name, digest, annotations }: ExpiryStatement['subject'][number]): SealedFile {
  return { path: name, sha256: `sha256:${digest.sha256}`, bytes: annotations.size_bytes };
}

/** Removes a file, and the folders that it leaves empty. */
function removeFile(folder: string, name: string): void {
  rmSync(path.join(folder, name), { force: true });
  for (let below = path.dirname(name); below !== '.'; below = path.dirname(below)) {
    const at = path.join(folder, below);
    try {
      if (readdirSync(at).length > 0) return;
      rmdirSync(at);
    } catch {
      return;
    }
  }
}
