import * as z from 'zod/mini';
import { bytesHash } from '../../base/hash.ts';
import { ARTIFACT_ASKS, caseId, milliseconds, portablePath } from '../artifacts/words.ts';
import type { Claim } from '../claim.ts';
import { type Contract, MIB } from '../contract.ts';
import { must, rulesFor, versionRule } from '../rule.ts';
import { contentHashText, count, record } from '../shape.ts';

const suiteReplyShape = record({
  schema_version: z.literal('suite-reply.v1'),
  case_id: caseId(),
  attempt: z.int().check(z.gte(1)),
  /** The reply after masking. */
  body: z.optional(z.string()),
  /** The file of a reply that is too large for a line. */
  href: z.optional(portablePath()),
  sha256: contentHashText(),
  bytes: count(),
  /** When each frame of a stream arrived, in milliseconds after the request. */
  frame_ms: z.optional(z.array(milliseconds())),
});

export type SuiteReply = z.infer<typeof suiteReplyShape>;

const rule = rulesFor<SuiteReply>();

const rules = [
  versionRule('RP1', 'Reply Version Known', 'suite-reply.v1', 'a reply'),
  rule({
    id: 'RP2',
    title: 'Reply Of An Attempt',
    why: 'A reply proves an artifact only if both name the same case and attempt.',
    asks: ['case_id is a case id', ...ARTIFACT_ASKS.caseId, 'attempt is an integer, at least 1'],
    fields: ['case_id', 'attempt'],
    breach: reply => ({ ...reply, attempt: 0 }),
  }),
  rule({
    id: 'RP3',
    title: 'Reply Whole',
    why: 'The verifier maps the reply again, so it needs every byte.',
    asks: [
      'either body, the text of the reply after masking, or href, the path of a file in assets/ with that text',
      ...ARTIFACT_ASKS.portablePath,
      'sha256 and bytes are the hash and the size of that text in UTF-8',
      'frame_ms, if present, lists the arrival time of every frame in milliseconds, at least 0',
    ],
    fields: ['body', 'href', 'sha256', 'bytes', 'frame_ms'],
    *check({ body, href, bytes, sha256 }) {
      if ((body === undefined) === (href === undefined))
        yield must('body', 'must be present if and only if href is not');
      if (body !== undefined && Buffer.byteLength(body) !== bytes) yield must('bytes', 'is not the size of body');
      else if (body !== undefined && bytesHash(body) !== sha256) yield must('sha256', 'is not the hash of body');
      if (href !== undefined && !href.startsWith('assets/')) yield must('href', 'must start with assets/');
    },
    breach: reply => ({ ...reply, bytes: 1 }),
  }),
];

export const suiteReply: Contract = {
  name: 'suite-reply',
  title: 'Stored reply',
  tells: 'What the target sent for one attempt, after masking; a line of assets/replies.ndjson.',
  source: 'Run folder of Proctor',
  version: { field: 'schema_version', value: 'suite-reply.v1' },
  shape: suiteReplyShape,
  rules,
  unknownKeys: 'RP1',
  programText: ['body'],
  *claims({ href, sha256, bytes }: SuiteReply): Generator<Claim> {
    if (href !== undefined) yield { at: 'href', file: href, sha256, bytes };
  },
  claimsFrom: 1,
  beyond: ['whether the target sent these bytes', 'what masking removed'],
  bytesMax: 16 * MIB,
  example: {
    schema_version: 'suite-reply.v1',
    case_id: 'refund-small',
    attempt: 2,
    body: '{"final_output":"Your refund of 19.99 EUR is on its way."}',
    sha256: 'sha256:6c2c9c1ae052ca63e80c22c73228156c89e94a16654a6685dfe98ecc2755c0a1',
    bytes: 58,
  } satisfies SuiteReply,
};
