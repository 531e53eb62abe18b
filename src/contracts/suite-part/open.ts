import { bytesHash } from '../../base/hash.ts';
import { readJson } from '../../base/json.ts';
import { type RunArtifact, runArtifact } from '../artifacts/index.ts';
import { check } from '../check.ts';
import type { Contract } from '../contract.ts';
import { openSeal, seal, type SealEnvelope } from '../seal/index.ts';
import { signedFaults } from '../seal/envelope.ts';
import { unknownKeys } from '../judgement-seal/index.ts';
import { type SuiteRequest, suiteRequest } from '../suite/index.ts';
import { PART_REQUEST, PART_RUN, type SuitePart } from './shape.ts';

/** A part with its seal opened. Its documents have the digests that the seal names. */
export interface OpenedPart {
  readonly number: number;
  readonly runId: string;
  readonly sealSha256: string;
  readonly envelope: SealEnvelope;
  /** The digest of every file that the seal of the part lists, such as `sha256:…`. */
  readonly files: ReadonlyMap<string, string>;
  readonly run: RunArtifact;
  readonly request: SuiteRequest;
}

export type PartOpening =
  | { readonly ok: true; readonly part: OpenedPart }
  | { readonly ok: false; readonly path: string; readonly message: string };

/** Opens an untrusted part. Never throws. */
export function openPart({ number, seal: text, documents }: SuitePart): PartOpening {
  const envelope = parsed(text, seal);
  const opened = openSeal(envelope);
  if (!opened.ok) return wrong('seal', 'is not a seal that opens');
  for (const _ of unknownKeys(envelope)) return wrong('seal', 'has a key that no signature covers');
  for (const _ of signedFaults(opened.statement, envelope as SealEnvelope))
    return wrong('seal', 'says whether it is signed, but its signatures disagree');
  const { subject, predicate } = opened.statement;
  if (predicate.kind !== 'suite') return wrong('seal', 'does not seal a suite run');
  const files = new Map(subject.map(({ name, digest }) => [name, `sha256:${digest.sha256}`]));
  const texts = new Map<string, string>();
  for (const [index, { path, text }] of documents.entries()) {
    if (texts.has(path)) return wrong(`documents[${index}].path`, 'is a duplicate');
    if (files.get(path) !== bytesHash(text))
      return wrong(`documents[${index}].text`, 'does not have the digest that the seal of the part names');
    texts.set(path, text);
  }
  const run = sound(texts.get(PART_RUN), runArtifact) as RunArtifact | undefined;
  if (!run) return wrong('documents', `must contain a valid ${PART_RUN}`);
  const request = sound(texts.get(PART_REQUEST), suiteRequest) as SuiteRequest | undefined;
  if (!request) return wrong('documents', `must contain a valid ${PART_REQUEST}`);
  if ([run.run_id, request.run_id].some(id => id !== predicate.run_id))
    return wrong('documents', 'do not name the run in the seal of the part');
  const part = {
    number,
    runId: predicate.run_id,
    sealSha256: bytesHash(text),
    envelope: envelope as SealEnvelope,
    files,
    run,
    request,
  };
  return { ok: true, part };
}

function wrong(path: string, message: string): PartOpening {
  return { ok: false, path, message };
}

function parsed(text: string, { bytesMax }: Contract): unknown {
  const reading = readJson(Buffer.from(text), { bytesMax });
  return reading.ok ? reading.value : undefined;
}

function sound(text: string | undefined, contract: Contract): unknown {
  const value = text === undefined ? undefined : parsed(text, contract);
  return value !== undefined && check(contract, value, LOOSE).violations.length === 0 ? value : undefined;
}

const LOOSE = { strict: false, internal: false };
