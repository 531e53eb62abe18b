import { existsSync } from 'node:fs';
import path from 'node:path';
import { writeAtomic } from '../base/atomic.ts';
import { canonicalize } from '../base/canonical.ts';
import { bytesHash, type ContentHash } from '../base/hash.ts';
import { readJson } from '../base/json.ts';
import { readRegular } from '../base/regular.ts';
import {
  judgementSeal,
  type JudgementStatement,
  judgementStatement,
  openJudgement,
  type SealedJudgement,
} from '../contracts/judgement-seal/index.ts';
import { type Checker, sealDocument, type SealEnvelope, type Signer } from '../contracts/seal/index.ts';

/** Whether a judgement is bound to a seal. `none`: there is no judgement at all. */
export type SealState = 'none' | 'sound' | 'missing' | 'broken';

/** A judgement that cannot be trusted, and why: words that continue "it". */
export interface Untrusted {
  readonly state: 'missing' | 'broken';
  readonly why: string;
}

/** The seal of a judgement, and the statement in it. */
export interface JudgementSeal {
  readonly state: 'sound';
  readonly statement: JudgementStatement;
  readonly envelope: SealEnvelope;
  /** The hash by which other judgements name this seal. */
  readonly sha256: ContentHash;
}

/** Where the seal of a judgement lies: `evaluation.seal.json` beside `evaluation.json`. */
export function sealFileOf(file: string): string {
  return file.replace(/\.json$/, '.seal.json');
}

/** Writes the seal of a judgement whose files are there. */
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

/** Reads the seal of a judgement, as far as it can be checked without the judgement itself. */
export function readSeal(folder: string, file: string): JudgementSeal | Untrusted {
  const place = path.join(folder, sealFileOf(file));
  const bytes = readRegular(place, judgementSeal.bytesMax);
  if (!bytes && !existsSync(place)) return { state: 'missing', why: 'has no seal' };
  const reading = bytes && readJson(bytes, { bytesMax: judgementSeal.bytesMax });
  const opened = reading?.ok ? openJudgement(reading.value) : undefined;
  if (!bytes || !opened) return broken('has a seal that is not one JSON document');
  if (!opened.ok) return broken(`has a seal that cannot be read: ${opened.message}`);
  return { state: 'sound', statement: opened.statement, envelope: opened.envelope, sha256: bytesHash(bytes) };
}

export function broken(why: string): Untrusted {
  return { state: 'broken', why };
}

/** Why a file is not the one that a seal lists; undefined if it is. */
export function changedSince(
  { statement }: JudgementSeal,
  file: string,
  bytes: Buffer | undefined,
): string | undefined {
  const subject = statement.subject.find(({ name }) => name === file);
  if (!subject) return `has a seal that does not list ${file}`;
  if (!bytes) return `is missing, and its seal is there`;
  const isTheSame =
    bytes.length === subject.annotations.size_bytes && bytesHash(bytes) === `sha256:${subject.digest.sha256}`;
  return isTheSame ? undefined : 'was changed after it was sealed';
}

/** Why a key has not signed an envelope, though it must; undefined if it has. */
export function notSignedBy(key: Checker, envelope: SealEnvelope): string | undefined {
  if (envelope.signatures.length === 0) return `is not signed with the key ${key.keyId}`;
  const answer = key.hasSigned(envelope);
  if (answer === 'right') return undefined;
  return answer === 'wrong' ? 'has a wrong signature' : `is signed by another key than ${key.keyId}`;
}

/** The keys that the signatures of an envelope name, sorted. */
export function keyIdsOf({ signatures }: SealEnvelope): readonly string[] {
  return [...new Set(signatures.flatMap(({ keyid }) => keyid ?? []))].sort();
}
