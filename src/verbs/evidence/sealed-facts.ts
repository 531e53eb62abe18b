import { bytesHash } from '../../base/hash.ts';
import { readJson } from '../../base/json.ts';
import { expiry, openExpiry } from '../../contracts/expiry/index.ts';
import { type Checker, openSeal, seal, type SealEnvelope } from '../../contracts/seal/index.ts';
import { DOES_NOT_VERIFY } from '../../reports/pages/page-kinds.ts';
import type { Options } from '../../verify/index.ts';
import type { EvidenceTop, ExpiredFacts, SealFacts, SignatureFacts, Verified } from './evidence-view.ts';

/** What a seal says about itself, before anything is verified. */
export interface Seal {
  readonly facts: SealFacts;
  readonly signature: SignatureFacts;
  /** With the key of the project, if the seal names it. A run that another key signed is not wrong because of that. */
  readonly options: Options;
}

/** Undefined if the bytes are no readable seal. */
export function sealFactsIn(bytes: Buffer | undefined, key: Checker | undefined): Seal | undefined {
  const envelope = jsonIn(bytes, seal.bytesMax);
  const opened = openSeal(envelope);
  if (!bytes || !opened.ok) return undefined;
  const { subject, predicate } = opened.statement;
  const { run_id, kind, sealed_at } = predicate;
  const signature = signatureOf(envelope as SealEnvelope, key);
  const isOurs = key !== undefined && (signature.state === 'valid' || signature.state === 'wrong');
  return {
    facts: {
      sha256: bytesHash(bytes),
      run_id,
      kind,
      sealed_at,
      files: subject.length,
      bytes: subject.reduce((sum, { annotations }) => sum + annotations.size_bytes, 0),
    },
    signature,
    options: isOurs ? { key: key.publicPem } : {},
  };
}

function signatureOf(envelope: SealEnvelope, key: Checker | undefined): SignatureFacts {
  const keyIds = envelope.signatures.flatMap(({ keyid }) => (keyid === undefined ? [] : [keyid.slice(0, 100)]));
  const about = { key_ids: keyIds, project_key_id: key?.keyId ?? null };
  if (envelope.signatures.length === 0) return { state: 'unsigned', ...about };
  const signed = key?.hasSigned(envelope) ?? 'by another key';
  return { state: signed === 'right' ? 'valid' : signed === 'wrong' ? 'wrong' : 'unknown_key', ...about };
}

/** The files that a note in the folder says have expired; null without a readable note. */
export function expiredFactsIn(bytes: Buffer | undefined): ExpiredFacts | null {
  const note = openExpiry(jsonIn(bytes, expiry.bytesMax))?.statement;
  if (!note) return null;
  const files = note.subject.slice(0, FILES_MAX);
  return {
    at: note.predicate.expired_at,
    files: files.map(({ name, annotations }) => ({ path: name, bytes: annotations.size_bytes })),
    total: note.subject.length,
  };
}

const FILES_MAX = 100;

function jsonIn(bytes: Buffer | undefined, bytesMax: number): unknown {
  const reading = bytes && readJson(bytes, { bytesMax });
  return reading?.ok ? reading.value : undefined;
}

/** The verdict in a word and a sentence. */
export function evidenceTop(
  { outcome, broken, violations_total: total }: Verified,
  signature: SignatureFacts | null,
): EvidenceTop {
  if (outcome === 'valid') return validTop(signature);
  const [first] = broken;
  if (outcome !== 'invalid') {
    const why = first?.reason?.message ?? 'It cannot be read.';
    return { tone: 'bad', word: outcome === 'refused' ? 'Refused' : 'Not readable', sentence: why };
  }
  const rules = total === 1 ? 'One rule is broken' : `${total.toLocaleString('en-US')} rules are broken`;
  return { tone: 'bad', word: DOES_NOT_VERIFY, sentence: `${rules}. Do not rely on this evidence.` };
}

function validTop(signature: SignatureFacts | null): EvidenceTop {
  switch (signature?.state) {
    case 'valid':
      return { tone: 'good', word: 'Verifies', sentence: 'Every file matches the seal, and your key signed the seal.' };
    case 'unknown_key':
      return {
        tone: 'unsure',
        word: 'Verifies, unknown signer',
        sentence: 'Every file matches the seal. This project does not have the key that the signature names.',
      };
    case 'unsigned':
      return {
        tone: 'good',
        word: 'Verifies',
        sentence: 'Every file matches the seal. The seal is not signed, so it reveals accidents, but not forgery.',
      };
    default:
      return { tone: 'good', word: 'Verifies', sentence: 'The document follows every rule of its format.' };
  }
}
