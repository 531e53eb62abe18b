import { type Contract, MIB } from '../contract.ts';
import { type Finding, must, rulesFor } from '../rule.ts';
import {
  expiryEnvelopeShape,
  payloadContent,
  restated,
  type SealEnvelope,
  signedFaults,
  type StatementFault,
} from '../seal/envelope.ts';
import { sealDocument } from '../seal/index.ts';
import { expiredFileFaults, readExpiryFaults, unknownEnvelopeKeys } from './open.ts';
import { expiryStatement, type ExpiryStatement } from './statement.ts';

export { openExpiry } from './open.ts';
export { type ExpiryStatement, expiryStatement, isExpirableLog, isExpirableOutput } from './statement.ts';

const rule = rulesFor<SealEnvelope>();

const rules = [
  rule({
    id: 'EX1',
    title: 'Expiry Envelope Known',
    why: 'Signature tools expect a DSSE envelope, and no signature covers the envelope itself.',
    asks: [
      'schema_version, if present, is "expiry.v1"',
      'payloadType is "application/vnd.in-toto+json"',
      'signatures is a list of at most 16; each has sig, and may have keyid',
      'no key of the envelope is unknown',
    ],
    fields: ['schema_version', 'payloadType', 'signatures'],
    *check(envelope, { strict }) {
      // In strict mode, `check` reports them.
      if (!strict) for (const { path, message } of unknownEnvelopeKeys(envelope)) yield must(path, message);
    },
    breach: envelope => ({ ...envelope, payloadType: 'application/json' }),
  }),
  rule({
    id: 'EX2',
    title: 'Expiry Statement Readable',
    why: 'All readers must decode the same statement; otherwise one signature could cover two.',
    asks: [
      'payload is standard base64 with padding; it encodes canonical JSON of at most 64 MiB',
      'it is an in-toto statement: _type is "https://in-toto.io/Statement/v1"',
      'predicateType is "urn:proctor:expiry:v1", and schema_version in the predicate is "expiry.v1"',
      'the predicate has run_id (a name), seal_sha256, expired_at (an instant) and signed (true or false)',
      'no key is unknown',
    ],
    fields: ['payload'],
    *check({ payload }) {
      const content = payloadContent(payload);
      if (!content.ok) yield must('payload', content.message);
      else for (const { path, message } of readExpiryFaults(content.value)) yield must(path, message);
    },
    breach: envelope => ({ ...envelope, payload: envelope.payload.slice(0, -1) }),
  }),
  rule({
    id: 'EX3',
    title: 'Expired Files Listed',
    why: 'Outputs and logs may expire. The documents of a run stay, because they say what happened.',
    asks: [
      'subject is a list that is not empty; each entry has name, digest.sha256 and annotations.size_bytes, as in seal.json',
      'names are normalized relative paths, sorted by UTF-16 code unit, without duplicates',
      'each is in output/ or evidence/internal/, or is stdout.txt or stderr.txt of a step',
    ],
    fields: [],
    reads: ['payload'],
    check: ({ payload }) => inContent(payload, expiredFileFaults),
    breach: envelope => restated<ExpiryStatement>(envelope, statement => ({ ...statement, subject: [] })),
  }),
  rule({
    id: 'EX4',
    title: 'Expiry Signed Or Not',
    why: 'If someone removes the signatures, the note must not look like an unsigned one.',
    asks: ['signed in the predicate is true if and only if signatures is not empty'],
    fields: [],
    reads: ['payload', 'signatures'],
    check: envelope => inContent(envelope.payload, statement => signedFaults(statement, envelope)),
    breach: envelope =>
      restated<ExpiryStatement>(envelope, statement => ({
        ...statement,
        predicate: { ...statement.predicate, signed: true },
      })),
  }),
];

function* inContent(payload: string, faultsOf: (statement: unknown) => Iterable<StatementFault>): Generator<Finding> {
  const content = payloadContent(payload);
  if (content.ok) for (const { path, message } of faultsOf(content.value)) yield must(path, message);
}

const example = sealDocument(
  expiryStatement({
    runId: 'script_20260403_101500_4f1c9a7be210',
    sealSha256: 'sha256:3a7bd3e2360a3d29eea436fcfb7e44c735d117c42d1c1835420b6b9942dd4f1b',
    expiredAt: '2026-05-03T10:15:07.412Z',
    files: [
      {
        path: 'output/report.pdf',
        sha256: 'sha256:77aa66bb55cc44dd33ee22ff1100998877665544332211ffeeddccbbaa009988',
        bytes: 120_000,
      },
    ],
  }),
);

export const expiry: Contract = {
  name: 'expiry',
  title: 'Expired files',
  tells: 'The outputs and logs that were removed from a sealed run folder, when, and their digests.',
  source: 'Proctor run folder, as DSSE 1.0 and in-toto Statement v1',
  version: { field: 'schema_version', value: 'expiry.v1' },
  fileNames: ['expired.json'],
  shape: expiryEnvelopeShape,
  rules,
  unknownKeys: 'EX1',
  // Base64 text can look like a host path by chance.
  programText: ['payload'],
  beyond: ['whether the seal of the run lists these files, and who removed them: verify the folder with --key'],
  bytesMax: 96 * MIB,
  example,
};
