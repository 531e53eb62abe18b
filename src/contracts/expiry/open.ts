import { placeOf } from '../../base/place.ts';
import { formOf } from '../form.ts';
import { UNKNOWN_KEY } from '../rule.ts';
import {
  expiryEnvelopeShape,
  payloadContent,
  signedFaults,
  type StatementFault,
  statementFaults,
  subjectFaults,
  unknownIn,
} from '../seal/envelope.ts';
import type { SealEnvelope } from '../seal/index.ts';
import { expiryShape, type ExpiryStatement, mayExpire } from './statement.ts';

/** Opens an untrusted note; undefined if it breaks a rule of its format. Never throws. */
export function openExpiry(
  envelope: unknown,
): { readonly statement: ExpiryStatement; readonly envelope: SealEnvelope } | undefined {
  for (const _ of formOf(expiryEnvelopeShape).faults(envelope, '')) return undefined;
  for (const _ of unknownEnvelopeKeys(envelope)) return undefined;
  const content = payloadContent((envelope as SealEnvelope).payload);
  if (!content.ok) return undefined;
  const statement = content.value as ExpiryStatement;
  for (const faultsOf of [readExpiryFaults, expiredFileFaults]) for (const _ of faultsOf(statement)) return undefined;
  for (const _ of signedFaults(statement, envelope as SealEnvelope)) return undefined;
  return { statement, envelope: envelope as SealEnvelope };
}

/** No signature covers the envelope itself. */
export function* unknownEnvelopeKeys(envelope: unknown): Generator<StatementFault> {
  for (const { parent, key } of formOf(expiryEnvelopeShape).unknown(envelope, ''))
    yield { path: placeOf(parent, key), message: UNKNOWN_KEY };
}

/** Checks a statement except its list of files. */
export function* readExpiryFaults(statement: unknown): Generator<StatementFault> {
  yield* statementFaults(statement, expiryShape);
  yield* unknownIn(statement, expiryShape);
}

/** Checks the list of files: only outputs and logs expire. */
export function* expiredFileFaults(statement: unknown): Generator<StatementFault> {
  yield* subjectFaults(statement, expiryShape);
  const { subject } = (statement ?? {}) as { subject?: unknown };
  if (!Array.isArray(subject)) return;
  if (subject.length === 0) yield { path: 'payload.subject', message: 'must not be empty' };
  for (const [index, entry] of subject.entries()) {
    const name: unknown = (entry as { name?: unknown } | null)?.name;
    if (typeof name === 'string' && !mayExpire(name))
      yield { path: `payload.subject[${index}].name`, message: 'names a file that cannot expire' };
  }
}
