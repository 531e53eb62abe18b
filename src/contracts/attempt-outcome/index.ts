import { type Contract, MIB } from '../contract.ts';
import { type Finding, must, rulesFor } from '../rule.ts';
import {
  attemptEnvelopeShape,
  payloadContent,
  restated,
  type SealEnvelope,
  signedFaults,
  type StatementFault,
} from '../seal/envelope.ts';
import { sealDocument } from '../seal/index.ts';
import { identityFaults, readAttemptFaults, receivedFaults, unknownAttemptKeys } from './open.ts';
import { type AttemptPredicate, attemptStatement, type AttemptStatement } from './statement.ts';

export { openAttempt } from './open.ts';
export { type AttemptPredicate, attemptStatement, type AttemptStatement } from './statement.ts';

const rule = rulesFor<SealEnvelope>();

const rules = [
  rule({
    id: 'WO1',
    title: 'Outcome Envelope Known',
    why: 'Signature tools expect a DSSE envelope, and no signature covers the envelope itself.',
    asks: [
      'schema_version, if present, is "attempt-outcome.v1"',
      'payloadType is "application/vnd.in-toto+json"',
      'signatures is a list of at most 16; each has sig, and may have keyid',
      'no key of the envelope is unknown',
    ],
    fields: ['schema_version', 'payloadType', 'signatures'],
    *check(envelope, { strict }) {
      // In strict mode, `check` reports them.
      if (!strict) for (const { path, message } of unknownAttemptKeys(envelope)) yield must(path, message);
    },
    breach: envelope => ({ ...envelope, payloadType: 'application/json' }),
  }),
  rule({
    id: 'WO2',
    title: 'Outcome Statement Readable',
    why: 'All readers must decode the same statement; otherwise one signature could cover two.',
    asks: [
      'payload is standard base64 with padding; it encodes canonical JSON',
      'it is an in-toto statement: _type is "https://in-toto.io/Statement/v1"',
      'predicateType is "urn:proctor:attempt:v1", and schema_version in the predicate is "attempt-outcome.v1"',
      'the predicate has target_sha256 and case_sha256, the content hashes of what was sent',
      'the predicate has worker: name, version (of Proctor) and environment_hash',
      'the predicate has latency_ms, outcome (ok or runner_error) and signed (true or false)',
      'it may have http_status (100 to 999), masked (counts by kind) and frame_ms (milliseconds)',
      'no key is unknown',
    ],
    fields: ['payload'],
    *check({ payload }) {
      const content = payloadContent(payload);
      if (!content.ok) yield must('payload', content.message);
      else for (const { path, message } of readAttemptFaults(content.value)) yield must(path, message);
    },
    breach: envelope => ({ ...envelope, payload: envelope.payload.slice(0, -1) }),
  }),
  rule({
    id: 'WO3',
    title: 'Attempt Identified',
    why: 'A worker vouches for one attempt of one case, at one time.',
    asks: [
      'the predicate has run_id, case_id and attempt; key is these three with slashes between them',
      'an attempt that was made before by another worker has again (1 to 99), and key ends in a slash and again',
      'ended_at is not before started_at; both are instants on the clock of the worker',
    ],
    fields: [],
    reads: ['payload'],
    check: ({ payload }) => inContent(payload, identityFaults),
    breach: envelope => withPredicate(envelope, { attempt: 9 }),
  }),
  rule({
    id: 'WO4',
    title: 'Received Bytes Named',
    why: 'The stored reply is proven only by the digest in a signed statement.',
    asks: [
      'subject has the SHA-256 and size of the received bytes after masking; name is reply, or body if the attempt failed',
      'an answer has a reply; a failed attempt has failure, and a body if failure has one; frame_ms belongs to an answer',
      'failure has class, message and may_retry; it may have error_name, status_text and retry_after_ms',
      'body in failure has bytes_total, truncated, content_type and headers',
      'for a script or an agent, run in the predicate has id and seal_sha256; then subject has run, the pack of that run, and no reply',
    ],
    fields: [],
    reads: ['payload'],
    check: ({ payload }) => inContent(payload, receivedFaults),
    breach: envelope => restated<AttemptStatement>(envelope, statement => ({ ...statement, subject: [] })),
  }),
  rule({
    id: 'WO5',
    title: 'Outcome Signed Or Not',
    why: 'If someone removes the signature, the outcome must not look like an unsigned one.',
    asks: ['signed in the predicate is true if and only if signatures is not empty'],
    fields: [],
    reads: ['payload', 'signatures'],
    check: envelope => inContent(envelope.payload, statement => signedFaults(statement, envelope)),
    breach: envelope => withPredicate(envelope, { signed: true }),
  }),
];

function* inContent(payload: string, faultsOf: (statement: unknown) => Iterable<StatementFault>): Generator<Finding> {
  const content = payloadContent(payload);
  if (content.ok) for (const { path, message } of faultsOf(content.value)) yield must(path, message);
}

function withPredicate(envelope: SealEnvelope, changed: Partial<AttemptPredicate>): SealEnvelope {
  return restated<AttemptStatement>(envelope, statement => ({
    ...statement,
    predicate: { ...statement.predicate, ...changed },
  }));
}

const example = sealDocument(
  attemptStatement(
    {
      key: 'suite_20260403_101500_4f1c9a7be210/refund-small/1',
      run_id: 'suite_20260403_101500_4f1c9a7be210',
      case_id: 'refund-small',
      attempt: 1,
      target_sha256: 'sha256:5f1d6c0b8a0e4f3f2f6f0d1b7c9a4e5d3b2a1908f7e6d5c4b3a29180f7e6d5c4',
      case_sha256: 'sha256:0c9b8a7f6e5d4c3b2a190817f6e5d4c3b2a190817f6e5d4c3b2a190817f6e5d4',
      worker: {
        name: 'worker-1',
        version: '1.0.0',
        environment_hash: 'sha256:77aa66bb55cc44dd33ee22ff1100998877665544332211ffeeddccbbaa009988',
      },
      started_at: '2026-04-03T10:15:01.000Z',
      ended_at: '2026-04-03T10:15:01.840Z',
      latency_ms: 838.4,
      outcome: 'ok',
      http_status: 200,
    },
    { sha256: 'sha256:6c2c9c1ae052ca63e80c22c73228156c89e94a16654a6685dfe98ecc2755c0a1', bytes: 58 },
  ),
);

export const attemptOutcome: Contract = {
  name: 'attempt-outcome',
  title: 'Outcome of an attempt',
  tells: 'What a worker sent and received in one attempt, signed by the worker; a line of assets/outcomes.ndjson.',
  source: 'Proctor run folder, as DSSE 1.0 and in-toto Statement v1',
  version: { field: 'schema_version', value: 'attempt-outcome.v1' },
  shape: attemptEnvelopeShape,
  rules,
  unknownKeys: 'WO1',
  // Base64 text can look like a host path by chance.
  programText: ['payload'],
  beyond: ['whether the target sent these bytes, and who signed: verify the folder with --key'],
  bytesMax: MIB,
  example,
};
