import { must, rulesFor, should } from '../rule.ts';
import {
  contentOf,
  type SealEnvelope,
  sealEnvelope,
  statementTroubles,
  subjectTroubles,
  unknownIn,
} from './envelope.ts';
import type { SealStatement } from './statement.ts';

const rule = rulesFor<SealEnvelope>();

const SL1 = rule({
  id: 'SL1',
  title: 'Envelope Known',
  why: 'Tools that check signatures read this envelope and no other.',
  asks: [
    'schema_version, if present, is "seal.v1"',
    'payloadType is "application/vnd.in-toto+json"',
    'signatures is a list of at most 16; each has sig, and may have keyid',
    'should (must, when strict): no key is unknown',
  ],
  fields: ['schema_version', 'payloadType', 'signatures'],
  breach: envelope => ({ ...envelope, payloadType: 'application/json' }),
});

const SL2 = rule({
  id: 'SL2',
  title: 'Statement Readable',
  why: 'What is sealed must be read the same by everyone, byte for byte, or a signature covers two things.',
  asks: [
    'payload is standard base64 with padding, of canonical JSON of at most 64 MiB',
    'it is an in-toto statement: _type is "https://in-toto.io/Statement/v1"',
    'predicateType is "urn:proctor:run-folder:v1", and schema_version in the predicate "seal.v1"',
    'the predicate has run_id, a name, and kind: script, agent, intent or suite',
    'the predicate has sealed_at, an instant, and signed, true or false',
    'evaluation_sealed, if present, is true: an evaluation of the run has a seal of its own',
    'should (must, when strict): no key is unknown',
  ],
  fields: ['payload'],
  *check(envelope, { strict }) {
    const content = openedOnce(envelope);
    if (!content.ok) {
      yield must('payload', content.message);
      return;
    }
    for (const { path, message } of statementTroubles(content.value)) yield must(path, message);
    for (const { path, message } of unknownIn(content.value)) yield (strict ? must : should)(path, message);
  },
  breach: envelope => ({ ...envelope, payload: envelope.payload.slice(0, -1) }),
});

const SL3 = rule({
  id: 'SL3',
  title: 'Files Listed',
  why: 'A list with a file twice, or with a path out of the folder, can be read in more than one way.',
  asks: [
    'subject is a list; each entry has name, digest.sha256 and annotations.size_bytes',
    'digest.sha256 is 64 lower-case hexadecimal digits, size_bytes a whole number from 0 up',
    'name is a relative path in its shortest form, without .. or control characters',
    'names are sorted by UTF-16 code unit, and none stands twice',
  ],
  fields: [],
  reads: ['payload'],
  *check(envelope) {
    const content = openedOnce(envelope);
    if (!content.ok) return;
    for (const { path, message } of subjectTroubles(content.value)) yield must(path, message);
  },
  breach: envelope => restated(envelope, ({ subject, ...rest }) => ({ ...rest, subject: subject.toReversed() })),
});

const SL4 = rule({
  id: 'SL4',
  title: 'Signed Or Not',
  why: 'A seal from which the signatures were taken must not look like one that never had any.',
  asks: ['signed in the predicate is true exactly where signatures holds one'],
  fields: [],
  reads: ['payload', 'signatures'],
  *check(envelope) {
    const content = openedOnce(envelope);
    if (!content.ok) return;
    const signed: unknown = (content.value as { predicate?: { signed?: unknown } | null } | null)?.predicate?.signed;
    const isSigned = envelope.signatures.length > 0;
    if (signed === true && !isSigned)
      yield must('signatures', 'must not be empty: the statement says that it is signed');
    if (signed === false && isSigned)
      yield must('signatures', 'must be empty: the statement says that it is not signed');
  },
  breach: envelope =>
    restated(envelope, statement => ({ ...statement, predicate: { ...statement.predicate, signed: true } })),
});

export const sealRules = [SL1, SL2, SL3, SL4];

/** Three rules look into one payload, which may be large. */
function openedOnce(envelope: Pick<SealEnvelope, 'payload'>): ReturnType<typeof contentOf> {
  let content = contents.get(envelope);
  if (!content) {
    content = contentOf(envelope.payload);
    contents.set(envelope, content);
  }
  return content;
}

const contents = new WeakMap<object, ReturnType<typeof contentOf>>();

/** The same envelope around another statement. */
function restated(envelope: SealEnvelope, change: (statement: SealStatement) => SealStatement): SealEnvelope {
  const content = contentOf(envelope.payload);
  return content.ok ? sealEnvelope(change(content.value as SealStatement)) : envelope;
}
