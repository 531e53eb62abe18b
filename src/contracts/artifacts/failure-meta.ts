import * as z from 'zod/mini';
import { placeOf } from '../../base/place.ts';
import { type Contract, MIB } from '../contract.ts';
import { must, rulesFor, should } from '../rule.ts';
import { anyObject, count, record } from '../shape.ts';
import { AA, artifactVersion } from './invariants.ts';
import { ARTIFACT_ASKS, caseId, digest, errorClass, side } from './words.ts';

/** Only the version is required. The contract recommends the other keys, so a missing one is only advice. */
const failureMetaShape = record({
  schema_version: z.literal('failure-meta.v1'),
  case_id: z.optional(caseId()),
  version: z.optional(side()),
  class: z.optional(errorClass()),
  content_type: z.optional(z.nullable(z.string())),
  encoding: z.optional(z.nullable(z.string())),
  bytes_written: z.optional(count()),
  bytes_total: z.optional(z.nullable(count())),
  truncated: z.optional(z.boolean()),
  sha256: z.optional(digest()),
  headers: z.optional(anyObject()),
  note: z.optional(z.string()),
});

type FailureMeta = z.infer<typeof failureMetaShape>;

const RECOMMENDED = [
  'case_id',
  'version',
  'class',
  'content_type',
  'encoding',
  'bytes_written',
  'bytes_total',
  'truncated',
] as const satisfies readonly (keyof FailureMeta)[];

const rule = rulesFor<FailureMeta>();

const rules = [
  artifactVersion('failure-meta.v1'),
  rule({
    ...AA.fullBodies,
    asks: [
      'bytes_written, if present, is a non-negative integer',
      'bytes_total, if present, is a non-negative integer or null',
      'truncated, if present, is a boolean; default false',
      'bytes_written is present if truncated is true',
      'if both sizes are known, truncated is true if and only if bytes_written is less than bytes_total',
      'should: bytes_written is at most bytes_total',
    ],
    fields: ['bytes_written', 'bytes_total', 'truncated'],
    *check({ bytes_written, bytes_total, truncated = false }) {
      if (bytes_written === undefined) {
        if (truncated) yield must('bytes_written', 'is missing although truncated is true');
        return;
      }
      if (typeof bytes_total !== 'number') return;
      const isCut = bytes_written < bytes_total;
      if (isCut && !truncated) yield must('truncated', 'must be true, because bytes_written is less than bytes_total');
      if (!isCut && truncated) yield must('truncated', 'must be false, because no bytes are missing');
      if (bytes_written > bytes_total) yield should('bytes_written', 'exceeds bytes_total');
    },
    breach: meta => ({ ...meta, truncated: false }),
  }),
  rule({
    ...AA.errorClasses,
    asks: ['class, if present, is timeout, http_error, invalid_json, schema_mismatch, network_error or other'],
    fields: ['class'],
    breach: meta => ({ ...meta, class: 'server_error' }),
  }),
  rule({
    ...AA.caseNamed,
    asks: ['case_id, if present, is a case id', ...ARTIFACT_ASKS.caseId, 'version, if present, is baseline or new'],
    fields: ['case_id', 'version'],
    breach: meta => ({ ...meta, case_id: '../refund-large' }),
  }),
  rule({
    ...AA.failureMeta,
    asks: [
      'content_type and encoding, if present, are strings or null',
      'headers, if present, is an object',
      'note, if present, is a string',
      'should: case_id, version, class, content_type and encoding are present',
      'should: bytes_written, bytes_total and truncated are present',
      'should: authorization, proxy-authorization, cookie and set-cookie are masked in headers',
      'should: x-api-key, api-key and x-auth-token are masked in headers',
      'should: a masked value is empty, only asterisks, or the word redacted, masked or removed, with or without brackets',
    ],
    fields: ['content_type', 'encoding', 'headers', 'note'],
    *check(meta) {
      for (const key of RECOMMENDED) {
        if (!Object.hasOwn(meta, key)) yield should(key, 'is recommended but missing');
      }
      for (const [name, value] of Object.entries(meta.headers ?? {})) {
        if (SECRET_HEADER.test(name) && !(typeof value === 'string' && MASKED.test(value))) {
          yield should(placeOf('headers', name), 'often contains credentials and should be masked');
        }
      }
    },
    breach: meta => ({ ...meta, headers: 'content-type: text/html' }),
  }),
  rule({
    ...AA.assetDigests,
    asks: ['sha256, if present, is a digest', ...ARTIFACT_ASKS.digest],
    fields: ['sha256'],
    breach: meta => ({ ...meta, sha256: 'sha256:9f86d081' }),
  }),
];

/** Anchored, so that a violation's path never repeats any other header name. */
const SECRET_HEADER = /^(?:authorization|proxy-authorization|cookie|set-cookie|x-api-key|api-key|x-auth-token)$/i;

const MASKED = /^(?:\*+|\W*(?:redacted|masked|removed)\W*)?$/i;

const example: FailureMeta = {
  schema_version: 'failure-meta.v1',
  case_id: 'refund-large',
  version: 'new',
  class: 'http_error',
  content_type: 'text/html; charset=utf-8',
  encoding: 'utf-8',
  bytes_written: 2_000_000,
  bytes_total: 3_481_220,
  truncated: true,
  sha256: 'sha256:6b2f1c0e8d97a4535e0b7c1fd2a8964037be5f18c2d09a6e741b3f50c8d2e9a7',
  headers: { 'content-type': 'text/html; charset=utf-8', 'retry-after': '30', 'set-cookie': '[redacted]' },
  note: 'The body was truncated at max_body_bytes.',
};

export const failureMeta: Contract = {
  name: 'failure-meta',
  title: 'Metadata of a saved body',
  tells: "The content type of a failed response's body, how much of the body was kept, and its hash.",
  source: 'Agent Artifact Contract v1, section 6.2',
  version: { field: 'schema_version', value: 'failure-meta.v1' },
  shape: failureMetaShape,
  rules,
  unknownKeys: AA.schemaVersion.id,
  programText: ['content_type', 'encoding', 'headers', 'note'],
  beyond: [
    'whether the saved body is the one that was received',
    'whether bytes_total was counted, or only announced by the target',
    'whether a custom header contains a secret',
  ],
  bytesMax: 16 * MIB,
  example,
};
