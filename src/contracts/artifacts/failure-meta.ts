import * as z from 'zod/mini';
import { placeOf } from '../../base/place.ts';
import { type Contract, MIB } from '../contract.ts';
import { must, rulesFor, should } from '../rule.ts';
import { anyObject, count, record } from '../shape.ts';
import { AA } from './invariants.ts';
import { ASKS, caseId, digest, errorClass, side } from './words.ts';

/** Only the version is demanded: the contract recommends the rest, so what is absent is advice. */
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
  rule({
    ...AA.schemaVersion,
    asks: ['schema_version is "failure-meta.v1"', 'should (must, when strict): no key is unknown'],
    fields: ['schema_version'],
    breach: meta => ({ ...meta, schema_version: 'failure-meta.v2' }),
  }),
  rule({
    ...AA.fullBodies,
    asks: [
      'bytes_written, if present, is a whole number from 0 up',
      'bytes_total, if present, is a whole number from 0 up, or null',
      'truncated, if present, is true or false; absent, it counts as false',
      'bytes_written is there where truncated is true',
      'truncated is true where bytes_written is less than bytes_total, and false where it is not, if both are known',
      'should: bytes_written is not more than bytes_total',
    ],
    fields: ['bytes_written', 'bytes_total', 'truncated'],
    *check({ bytes_written, bytes_total, truncated = false }) {
      if (bytes_written === undefined) {
        if (truncated) yield must('bytes_written', 'is missing, and a cut body must say how much of it is left');
        return;
      }
      if (typeof bytes_total !== 'number') return;
      const isCut = bytes_written < bytes_total;
      if (isCut && !truncated)
        yield must('truncated', 'must be true, because fewer bytes were written than there were');
      if (!isCut && truncated) yield must('truncated', 'must be false, because no byte is lacking');
      if (bytes_written > bytes_total) yield should('bytes_written', 'is more than bytes_total');
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
    asks: ['case_id, if present, is a case id', ...ASKS.caseId, 'version, if present, is baseline or new'],
    fields: ['case_id', 'version'],
    breach: meta => ({ ...meta, case_id: '../refund-large' }),
  }),
  rule({
    ...AA.failureMeta,
    asks: [
      'content_type and encoding, if present, are strings or null',
      'headers, if present, is an object',
      'note, if present, is a string',
      'should: case_id, version, class, content_type and encoding are there',
      'should: bytes_written, bytes_total and truncated are there',
      'should: authorization, proxy-authorization, cookie and set-cookie are masked in headers',
      'should: x-api-key, api-key and x-auth-token are masked in headers',
      'should: what is masked is empty, asterisks, or redacted, masked or removed, with or without brackets',
    ],
    fields: ['content_type', 'encoding', 'headers', 'note'],
    *check(meta) {
      for (const key of RECOMMENDED) {
        if (!Object.hasOwn(meta, key)) yield should(key, 'is missing, and is recommended');
      }
      for (const [name, value] of Object.entries(meta.headers ?? {})) {
        if (SECRET_HEADER.test(name) && !(typeof value === 'string' && MASKED.test(value))) {
          yield should(placeOf('headers', name), 'often carries credentials and should be masked');
        }
      }
    },
    breach: meta => ({ ...meta, headers: 'content-type: text/html' }),
  }),
  rule({
    ...AA.assetDigests,
    asks: ['sha256, if present, is a digest', ...ASKS.digest],
    fields: ['sha256'],
    breach: meta => ({ ...meta, sha256: 'sha256:9f86d081' }),
  }),
];

/** Anchored, so that a header's name is repeated in a path only if it is one of these. */
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
  note: 'The body was cut at max_body_bytes.',
};

export const failureMeta: Contract = {
  name: 'failure-meta',
  title: 'Metadata of a saved body',
  tells: 'What the body of a failed reply was, how much of it was kept, and what it hashes to.',
  source: 'Agent Artifact Contract v1, section 6.2',
  version: { field: 'schema_version', value: 'failure-meta.v1' },
  shape: failureMetaShape,
  rules,
  unknownKeys: AA.schemaVersion.id,
  programText: ['content_type', 'encoding', 'headers'],
  beyond: [
    'whether the saved body is the one that was received',
    'whether bytes_total was counted or only announced by the target',
    'whether the headers hold a secret under a name of their own',
  ],
  bytesMax: 16 * MIB,
  example,
};
