import { statSync } from 'node:fs';
import path from 'node:path';
import { removeTorn, writeAtomic } from '../../base/atomic.ts';
import { systemClock } from '../../base/clock.ts';
import { bytesHash } from '../../base/hash.ts';
import { readJson } from '../../base/json.ts';
import { readRegular } from '../../base/regular.ts';
import type { Contract } from '../../contracts/contract.ts';
import { evaluationContradictions } from '../../contracts/judgement-seal/index.ts';
import { type Checker, envelopeShape, seal, type SealEnvelope, type Signer } from '../../contracts/seal/index.ts';
import { SEAL } from '../run-folder/finish.ts';
import {
  broken,
  changedSince,
  type JudgementSeal,
  keyIdsOf,
  notSignedBy,
  readSeal,
  sealFileOf,
  type Untrusted,
  writeSeal,
} from './judgement.ts';
import { hasShape, soundDocument } from '../document.ts';

const EVALUATION = 'evaluation.json';

/** The fields that every kind of evaluation has. */
export interface AnyEvaluation {
  readonly run_id: string;
  readonly generated_at: string;
  readonly judge_version: string;
  readonly seal_sha256: string;
}

/** Writes an evaluation and its seal into the run folder. Only the process that made the run calls this. */
export function writeEvaluationFiles(
  folder: string,
  text: string,
  { run_id: id, generated_at: sealedAt, judge_version: judgeVersion, seal_sha256 }: AnyEvaluation,
  signer: Signer | undefined,
): void {
  const file = path.join(folder, EVALUATION);
  for (const part of [file, sealFileOf(file)]) removeTorn(part, systemClock.now());
  writeAtomic(file, text);
  const files = [{ path: EVALUATION, sha256: bytesHash(text), bytes: Buffer.byteLength(text) }];
  const restsOn = [{ what: 'run', id, seal_sha256 } as const];
  writeSeal(folder, EVALUATION, { kind: 'evaluation', id, judgeVersion, sealedAt, files, restsOn }, signer);
}

export type FoundEvaluation =
  | { readonly state: 'none' }
  | Untrusted
  | { readonly state: 'sound'; readonly seal: JudgementSeal; readonly bytes: Buffer };

/**
 * Checks that the evaluation in a folder belongs to its run. Its seal must list these bytes and name the run's seal,
 * and the key that signed the run must have signed the evaluation. If `key` is that key, it verifies the signature.
 */
export function findEvaluation(folder: string, contract: Contract, key: Checker | undefined): FoundEvaluation {
  const bytes = readRegular(path.join(folder, EVALUATION), contract.bytesMax);
  const sealed = readSeal(folder, EVALUATION);
  const isThere = bytes !== undefined || statSync(path.join(folder, EVALUATION), { throwIfNoEntry: false });
  if (!isThere && sealed.state === 'missing') return { state: 'none' };
  if (sealed.state !== 'sound') return sealed;
  const run = runSealIn(folder);
  const why = changedSince(sealed, EVALUATION, bytes) ?? notOfThisRun(sealed, run) ?? notSignedAsRun(sealed, run, key);
  return why === undefined && bytes ? { state: 'sound', seal: sealed, bytes } : broken(why ?? 'cannot be read');
}

/** Parses an evaluation and checks it against its contract and its seal. */
export function evaluationIn(
  { bytes, seal: { statement } }: { readonly bytes: Buffer; readonly seal: JudgementSeal },
  contract: Contract,
): AnyEvaluation | Untrusted {
  const evaluation = soundDocument(bytes, contract) as AnyEvaluation | undefined;
  if (!evaluation) return broken('violates its contract');
  for (const { message } of evaluationContradictions(statement, evaluation))
    return broken(`has a seal that does not match: it ${message}`);
  return evaluation;
}

function notOfThisRun({ statement: { predicate } }: JudgementSeal, run: RunSeal | undefined): string | undefined {
  if (!run) return 'belongs to a run without a readable seal';
  if (predicate.kind !== 'evaluation') return 'has the seal of something else';
  // The hash identifies one seal, and that seal names one run.
  return predicate.rests_on[0]?.seal_sha256 === run.sha256 ? undefined : 'has the seal of another run';
}

function notSignedAsRun(
  { envelope }: JudgementSeal,
  run: RunSeal | undefined,
  key: Checker | undefined,
): string | undefined {
  if (!run || run.envelope.signatures.length === 0) return undefined;
  const signers = keyIdsOf(run.envelope);
  if (envelope.signatures.length === 0) return 'is not signed, but its run is';
  if (keyIdsOf(envelope).join() !== signers.join()) return 'is signed with a different key than its run';
  return key && signers.includes(key.keyId) ? notSignedBy(key, envelope) : undefined;
}

/** The ids of the keys that a run's seal names. */
export function runSigners(folder: string): readonly string[] {
  const run = runSealIn(folder);
  return run ? keyIdsOf(run.envelope) : [];
}

interface RunSeal {
  readonly sha256: string;
  readonly envelope: SealEnvelope;
}

/** Reads a run's seal. Does not hash the files that the seal lists: there may be 100,000. */
function runSealIn(folder: string): RunSeal | undefined {
  const bytes = readRegular(path.join(folder, SEAL), seal.bytesMax);
  const reading = bytes && readJson(bytes, { bytesMax: seal.bytesMax });
  if (!bytes || !reading?.ok || !hasShape(reading.value, envelopeShape)) return undefined;
  return { sha256: bytesHash(bytes), envelope: reading.value as SealEnvelope };
}
