import { placeOf } from '../../base/place.ts';
import { attemptKey } from '../attempt-key.ts';
import { formOf } from '../form.ts';
import { UNKNOWN_KEY } from '../rule.ts';
import {
  attemptEnvelopeShape,
  payloadContent,
  type SealEnvelope,
  signedFaults,
  type StatementFault,
  statementFaults,
  subjectFaults,
  unknownIn,
} from '../seal/envelope.ts';
import { attemptStatementShape, type AttemptStatement } from './statement.ts';

/** Opens an untrusted outcome; undefined if it breaks a rule of its format. Never throws. Does not check signatures. */
export function openAttempt(
  envelope: unknown,
): { readonly statement: AttemptStatement; readonly envelope: SealEnvelope } | undefined {
  for (const _ of formOf(attemptEnvelopeShape).faults(envelope, '')) return undefined;
  for (const _ of unknownAttemptKeys(envelope)) return undefined;
  const content = payloadContent((envelope as SealEnvelope).payload);
  if (!content.ok) return undefined;
  const statement = content.value as AttemptStatement;
  for (const _ of readAttemptFaults(statement)) return undefined;
  for (const faultsOf of [identityFaults, receivedFaults]) for (const _ of faultsOf(statement)) return undefined;
  for (const _ of signedFaults(statement, envelope as SealEnvelope)) return undefined;
  return { statement, envelope: envelope as SealEnvelope };
}

/** No signature covers the envelope itself. */
export function* unknownAttemptKeys(envelope: unknown): Generator<StatementFault> {
  for (const { parent, key } of formOf(attemptEnvelopeShape).unknown(envelope, ''))
    yield { path: placeOf(parent, key), message: UNKNOWN_KEY };
}

export function* readAttemptFaults(statement: unknown): Generator<StatementFault> {
  yield* statementFaults(statement, attemptStatementShape);
  yield* subjectFaults(statement, attemptStatementShape);
  yield* unknownIn(statement, attemptStatementShape);
}

/** Checks that the key names the run, the case and the attempt, and that time does not run backwards. */
export function* identityFaults(statement: unknown): Generator<StatementFault> {
  if (!isReadable(statement)) return;
  const { key, started_at, ended_at } = statement.predicate;
  if (key !== attemptKey(statement.predicate))
    yield { path: 'payload.predicate.key', message: 'does not name the run, the case and the attempt' };
  if (Date.parse(ended_at) < Date.parse(started_at))
    yield { path: 'payload.predicate.ended_at', message: 'is before started_at' };
}

/** Checks that the outcome, the failure and the received bytes belong together. */
export function* receivedFaults(statement: unknown): Generator<StatementFault> {
  if (!isReadable(statement)) return;
  const { subject, predicate } = statement;
  const { outcome, failure, frame_ms, run } = predicate;
  const names = subject.map(({ name }) => name).join();
  const isAnswer = outcome === 'ok';
  if (isAnswer === (failure !== undefined))
    yield { path: 'payload.predicate.failure', message: 'must be present if and only if outcome is "runner_error"' };
  if (!isAnswer && frame_ms) yield { path: 'payload.predicate.frame_ms', message: 'must be absent without an answer' };
  const received = isAnswer ? (run ? [] : ['reply']) : failure?.body ? ['body'] : [];
  if (names !== [...received, ...(run ? ['run'] : [])].join())
    yield {
      path: 'payload.subject',
      message: 'must name the received bytes: reply, or body of a failed attempt; and run if the predicate has run',
    };
}

function isReadable(statement: unknown): statement is AttemptStatement {
  return formOf(attemptStatementShape).fits(statement);
}
