import { must, NO_UNKNOWN_KEYS, rulesFor, should } from '../rule.ts';
import {
  payloadContent,
  restated,
  type SealEnvelope,
  signedFaults,
  statementFaults,
  subjectFaults,
  unknownIn,
} from './envelope.ts';
import type { SealStatement } from './statement.ts';

const rule = rulesFor<SealEnvelope>();

const SL1 = rule({
  id: 'SL1',
  title: 'Envelope Known',
  why: 'Signature tools expect a DSSE envelope.',
  asks: [
    'schema_version, if present, is "seal.v1"',
    'payloadType is "application/vnd.in-toto+json"',
    'signatures is a list of at most 16; each has sig, and may have keyid',
    NO_UNKNOWN_KEYS,
  ],
  fields: ['schema_version', 'payloadType', 'signatures'],
  breach: envelope => ({ ...envelope, payloadType: 'application/json' }),
});

const SL2 = rule({
  id: 'SL2',
  title: 'Statement Readable',
  why: 'All readers must decode the same statement; otherwise one signature could cover two.',
  asks: [
    'payload is standard base64 with padding; it encodes canonical JSON of at most 64 MiB',
    'it is an in-toto statement: _type is "https://in-toto.io/Statement/v1"',
    'predicateType is "urn:proctor:run-folder:v1", and schema_version in the predicate is "seal.v1"',
    'the predicate has run_id (a name) and kind (script, agent, intent or suite)',
    'the predicate has sealed_at (an instant) and signed (true or false)',
    'evaluation_sealed, if present, is true: evaluations of the run have a separate seal',
    NO_UNKNOWN_KEYS,
  ],
  fields: ['payload'],
  *check(envelope, { strict }) {
    const content = openedOnce(envelope);
    if (!content.ok) {
      yield must('payload', content.message);
      return;
    }
    for (const { path, message } of statementFaults(content.value)) yield must(path, message);
    for (const { path, message } of unknownIn(content.value)) yield (strict ? must : should)(path, message);
  },
  breach: envelope => ({ ...envelope, payload: envelope.payload.slice(0, -1) }),
});

const SL3 = rule({
  id: 'SL3',
  title: 'Files Listed',
  why: 'A list with duplicates, or with paths outside the folder, is ambiguous.',
  asks: [
    'subject is a list; each entry has name, digest.sha256 and annotations.size_bytes',
    'digest.sha256 is 64 lower-case hexadecimal digits; size_bytes is a non-negative integer',
    'name is a normalized relative path, without .. or control characters',
    'names are sorted by UTF-16 code unit, without duplicates',
  ],
  fields: [],
  reads: ['payload'],
  *check(envelope) {
    const content = openedOnce(envelope);
    if (!content.ok) return;
    for (const { path, message } of subjectFaults(content.value)) yield must(path, message);
  },
  breach: envelope =>
    restated<SealStatement>(envelope, ({ subject, ...rest }) => ({ ...rest, subject: subject.toReversed() })),
});

const SL4 = rule({
  id: 'SL4',
  title: 'Signed Or Not',
  why: 'If someone removes the signatures, the seal must not look like an unsigned one.',
  asks: ['signed in the predicate is true if and only if signatures is not empty'],
  fields: [],
  reads: ['payload', 'signatures'],
  *check(envelope) {
    const content = openedOnce(envelope);
    if (!content.ok) return;
    for (const { path, message } of signedFaults(content.value, envelope)) yield must(path, message);
  },
  breach: envelope =>
    restated<SealStatement>(envelope, statement => ({
      ...statement,
      predicate: { ...statement.predicate, signed: true },
    })),
});

export const sealRules = [SL1, SL2, SL3, SL4];

/** Three rules read one payload, which may be large. */
function openedOnce(envelope: Pick<SealEnvelope, 'payload'>): ReturnType<typeof payloadContent> {
  let content = contents.get(envelope);
  if (!content) {
    content = payloadContent(envelope.payload);
    contents.set(envelope, content);
  }
  return content;
}

const contents = new WeakMap<object, ReturnType<typeof payloadContent>>();
