import { existsSync } from 'node:fs';
import path from 'node:path';
import { writeAtomic } from '../../base/atomic.ts';
import { canonicalize } from '../../base/canonical.ts';
import { bytesHash, type ContentHash } from '../../base/hash.ts';
import { readJson } from '../../base/json.ts';
import { readRegular } from '../../base/regular.ts';
import {
  judgementSeal,
  type JudgementStatement,
  judgementStatement,
  openJudgement,
  type SealedJudgement,
} from '../../contracts/judgement-seal/index.ts';
import { type Checker, sealDocument, type SealEnvelope, type Signer } from '../../contracts/seal/index.ts';

/** Whether a judgement matches its seal. `none`: there is no judgement. */
export type SealState = 'none' | 'sound' | 'missing' | 'broken';

/** Why a judgement cannot be trusted. `why` continues a sentence that starts with "it". */
export interface Untrusted {
  readonly state: 'missing' | 'broken';
  readonly why: string;
}

export interface JudgementSeal {
  readonly state: 'sound';
  readonly statement: JudgementStatement;
  readonly envelope: SealEnvelope;
  /** Other judgements refer to this seal by this hash. */
  readonly sha256: ContentHash;
}

/** `evaluation.json` has its seal in `evaluation.seal.json`. */
export function sealFileOf(file: string): string {
  return file.replace(/\.json$/, '.seal.json');
}

/** Writes the seal of a judgement. The sealed files must exist. */
export function writeSeal(
  folder: string,
  file: string,
  sealed: SealedJudgement,
  signer: Signer | undefined,
  mode?: number,
): void {
  const text = canonicalize(sealDocument(judgementStatement(sealed), signer));
  writeAtomic(path.join(folder, sealFileOf(file)), text, mode);
}

/** Reads the seal of a judgement and checks everything that does not need the judgement itself. */
export function readSeal(folder: string, file: string): JudgementSeal | Untrusted {
  const place = path.join(folder, sealFileOf(file));
  const bytes = readRegular(place, judgementSeal.bytesMax);
  if (!bytes && !existsSync(place)) return { state: 'missing', why: 'has no seal' };
  const reading = bytes && readJson(bytes, { bytesMax: judgementSeal.bytesMax });
  const opened = reading?.ok ? openJudgement(reading.value) : undefined;
  if (!bytes || !opened) return broken('has a seal that is not a JSON document');
  if (!opened.ok) return broken(`has an unreadable seal: ${opened.message}`);
  return { state: 'sound', statement: opened.statement, envelope: opened.envelope, sha256: bytesHash(bytes) };
}

export function broken(why: string): Untrusted {
  return { state: 'broken', why };
}

/** Why a file differs from the one its seal lists; undefined if it does not. */
export function changedSince(
  { statement }: JudgementSeal,
  file: string,
  bytes: Buffer | undefined,
): string | undefined {
  const subject = statement.subject.find(({ name }) => name === file);
  if (!subject) return `has a seal that does not list ${file}`;
  if (!bytes) return `is missing, although its seal exists`;
  const isTheSame =
    bytes.length === subject.annotations.size_bytes && bytesHash(bytes) === `sha256:${subject.digest.sha256}`;
  return isTheSame ? undefined : 'was changed after it was sealed';
}

/** Why an envelope is not validly signed with a key; undefined if it is. */
export function notSignedBy(key: Checker, envelope: SealEnvelope): string | undefined {
  if (envelope.signatures.length === 0) return `is not signed with the key ${key.keyId}`;
  const answer = key.hasSigned(envelope);
  if (answer === 'right') return undefined;
  return answer === 'wrong' ? 'has an invalid signature' : `is signed with a different key than ${key.keyId}`;
}

/** The ids of the signing keys, sorted. */
export function keyIdsOf({ signatures }: SealEnvelope): readonly string[] {
  return [...new Set(signatures.flatMap(({ keyid }) => keyid ?? []))].sort();
}
