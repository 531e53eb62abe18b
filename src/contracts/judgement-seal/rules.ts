import { type Finding, must, rulesFor } from '../rule.ts';
import { payloadContent, restated, type SealEnvelope, signedFaults, type StatementFault } from '../seal/envelope.ts';
import { fileFaults, foundationFaults, readFaults, unknownKeys } from './open.ts';
import type { JudgementStatement } from './statement.ts';

const rule = rulesFor<SealEnvelope>();

const JS1 = rule({
  id: 'JS1',
  title: 'Judgement Envelope Known',
  why: 'Signature tools expect a DSSE envelope, and no signature covers the envelope itself.',
  asks: [
    'schema_version, if present, is "judgement-seal.v1"',
    'payloadType is "application/vnd.in-toto+json"',
    'signatures is a list of at most 16; each has sig, and may have keyid',
    'no key of the envelope is unknown',
  ],
  fields: ['schema_version', 'payloadType', 'signatures'],
  *check(envelope, { strict }) {
    // In strict mode, `check` reports them.
    if (!strict) for (const { path, message } of unknownKeys(envelope)) yield must(path, message);
  },
  breach: envelope => ({ ...envelope, payloadType: 'application/json' }),
});

const JS2 = rule({
  id: 'JS2',
  title: 'Judgement Statement Readable',
  why: 'All readers must decode the same statement; otherwise one signature could cover two.',
  asks: [
    'payload is standard base64 with padding; it encodes canonical JSON of at most 64 MiB',
    'it is an in-toto statement: _type is "https://in-toto.io/Statement/v1"',
    'predicateType is "urn:proctor:judgement:v1", and schema_version in the predicate is "judgement-seal.v1"',
    'the predicate has kind (evaluation, comparison or baseline) and id (the run, the comparison, or null)',
    'the predicate has judge_version (a semantic version), sealed_at (an instant) and signed (true or false)',
    'rests_on is a list of at most 10,000 seals; each has what, id and seal_sha256, and may have side',
    'no key is unknown',
  ],
  fields: ['payload'],
  *check({ payload }) {
    const content = payloadContent(payload);
    if (!content.ok) yield must('payload', content.message);
    else for (const { path, message } of readFaults(content.value)) yield must(path, message);
  },
  breach: envelope => ({ ...envelope, payload: envelope.payload.slice(0, -1) }),
});

const JS3 = rule({
  id: 'JS3',
  title: 'Judgement Files Listed',
  why: 'The seal covers only the files that it lists.',
  asks: [
    'subject is a list; each entry has name, digest.sha256 and annotations.size_bytes, as in seal.json',
    'each name is the name of a file next to the seal; names are sorted, without duplicates',
    'the seal of an evaluation lists only evaluation.json',
    'the seal of a comparison lists comparison.json and the reports that `proctor compare` wrote',
    'the seal in a baseline lists one file: the baseline without its seal, as Proctor writes it',
  ],
  fields: [],
  reads: ['payload'],
  check: ({ payload }) => inContent(payload, fileFaults),
  breach: envelope => restated<JudgementStatement>(envelope, statement => ({ ...statement, subject: [] })),
});

const JS4 = rule({
  id: 'JS4',
  title: 'Judgement Signed Or Not',
  why: 'If someone removes the signatures, the seal must not look like an unsigned one.',
  asks: ['signed in the predicate is true if and only if signatures is not empty'],
  fields: [],
  reads: ['payload', 'signatures'],
  check: envelope => inContent(envelope.payload, statement => signedFaults(statement, envelope)),
  breach: envelope =>
    restated<JudgementStatement>(envelope, statement => ({
      ...statement,
      predicate: { ...statement.predicate, signed: true },
    })),
});

const JS5 = rule({
  id: 'JS5',
  title: 'Foundations Named',
  why: 'A judgement is evidence only about the sealed runs behind it.',
  asks: [
    'rests_on is not empty; id is null if and only if kind is baseline',
    'rests_on of an evaluation lists only the run that its id names',
    'in a comparison, and only there, each entry has side: baseline or new',
    'if what is "baseline", the entry has no id and is on the baseline side of a comparison',
  ],
  fields: [],
  reads: ['payload'],
  check: ({ payload }) => inContent(payload, foundationFaults),
  breach: envelope =>
    restated<JudgementStatement>(envelope, statement => ({
      ...statement,
      predicate: { ...statement.predicate, rests_on: [] },
    })),
});

export const judgementSealRules = [JS1, JS2, JS3, JS4, JS5];

function* inContent(payload: string, troublesOf: (statement: unknown) => Iterable<StatementFault>): Generator<Finding> {
  const content = payloadContent(payload);
  if (content.ok) for (const { path, message } of troublesOf(content.value)) yield must(path, message);
}
