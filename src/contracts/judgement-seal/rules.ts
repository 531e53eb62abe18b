import { must, rulesFor } from '../rule.ts';
import { contentOf } from '../seal/envelope.ts';
import { type SealEnvelope, sealEnvelope } from '../seal/index.ts';
import { fileTroubles, foundationTroubles, readTroubles, signedTroubles, unknownKeys } from './open.ts';
import type { JudgementStatement } from './statement.ts';

const rule = rulesFor<SealEnvelope>();

const JS1 = rule({
  id: 'JS1',
  title: 'Judgement Envelope Known',
  why: 'Tools that check signatures read this envelope and no other, and no signature covers the envelope itself.',
  asks: [
    'schema_version, if present, is "judgement-seal.v1"',
    'payloadType is "application/vnd.in-toto+json"',
    'signatures is a list of at most 16; each has sig, and may have keyid',
    'no key of the envelope is unknown',
  ],
  fields: ['schema_version', 'payloadType', 'signatures'],
  *check(envelope, { strict }) {
    // Strict says it already.
    if (!strict) for (const { path, message } of unknownKeys(envelope)) yield must(path, message);
  },
  breach: envelope => ({ ...envelope, payloadType: 'application/json' }),
});

const JS2 = rule({
  id: 'JS2',
  title: 'Judgement Statement Readable',
  why: 'Every reader must read the same statement, byte for byte, or a signature covers two of them.',
  asks: [
    'payload is standard base64 with padding, of canonical JSON of at most 64 MiB',
    'it is an in-toto statement: _type is "https://in-toto.io/Statement/v1"',
    'predicateType is "urn:proctor:judgement:v1", and schema_version in the predicate "judgement-seal.v1"',
    'the predicate has kind: evaluation, comparison or baseline, and id: the run, the comparison, or null',
    'the predicate has judge_version, a semantic version, sealed_at, an instant, and signed, true or false',
    'rests_on is a list of at most 10,000 seals; each has what, id and seal_sha256, and may have side',
    'no key is unknown',
  ],
  fields: ['payload'],
  *check({ payload }) {
    const content = contentOf(payload);
    if (!content.ok) yield must('payload', content.message);
    else for (const { path, message } of readTroubles(content.value)) yield must(path, message);
  },
  breach: envelope => ({ ...envelope, payload: envelope.payload.slice(0, -1) }),
});

const JS3 = rule({
  id: 'JS3',
  title: 'Judgement Files Listed',
  why: 'The seal covers the files that it lists, and only those.',
  asks: [
    'subject is a list; each entry has name, digest.sha256 and annotations.size_bytes, as in seal.json',
    'each name is that of a file beside the seal; names are sorted, and none stands twice',
    'the seal of an evaluation lists evaluation.json and nothing else',
    'the seal of a comparison lists comparison.json and the reports that compare wrote',
    'the seal in a baseline lists one file: the baseline without its seal, as Proctor writes it',
  ],
  fields: [],
  reads: ['payload'],
  *check({ payload }) {
    const content = contentOf(payload);
    if (!content.ok) return;
    for (const { path, message } of fileTroubles(content.value)) yield must(path, message);
  },
  breach: envelope => restated(envelope, statement => ({ ...statement, subject: [] })),
});

const JS4 = rule({
  id: 'JS4',
  title: 'Judgement Signed Or Not',
  why: 'A seal without its signatures must not look like one that never had any.',
  asks: ['signed in the predicate is true exactly where signatures holds one'],
  fields: [],
  reads: ['payload', 'signatures'],
  *check(envelope) {
    const content = contentOf(envelope.payload);
    if (!content.ok) return;
    for (const { path, message } of signedTroubles(content.value, envelope)) yield must(path, message);
  },
  breach: envelope =>
    restated(envelope, statement => ({ ...statement, predicate: { ...statement.predicate, signed: true } })),
});

const JS5 = rule({
  id: 'JS5',
  title: 'Foundations Named',
  why: 'A judgement proves something only about the sealed runs that it was made from.',
  asks: [
    'rests_on is not empty; id is null exactly in a baseline',
    'an evaluation rests on the run of its id, and on nothing else',
    'an entry has side exactly in a comparison: baseline or new',
    'an entry whose what is baseline has no id, and stands on the baseline side of a comparison',
  ],
  fields: [],
  reads: ['payload'],
  *check({ payload }) {
    const content = contentOf(payload);
    if (!content.ok) return;
    for (const { path, message } of foundationTroubles(content.value)) yield must(path, message);
  },
  breach: envelope =>
    restated(envelope, statement => ({ ...statement, predicate: { ...statement.predicate, rests_on: [] } })),
});

export const judgementSealRules = [JS1, JS2, JS3, JS4, JS5];

/** The same envelope around another statement. */
function restated(envelope: SealEnvelope, change: (statement: JudgementStatement) => JudgementStatement): SealEnvelope {
  const content = contentOf(envelope.payload);
  return content.ok ? sealEnvelope(change(content.value as JudgementStatement)) : envelope;
}
