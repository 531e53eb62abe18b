import * as z from 'zod/mini';
import { contentHash, type ContentHash } from '../../base/hash.ts';
import { profileShape } from '../profile/shape.ts';
import { requestedShape } from '../script-request/shape.ts';
import { readJson } from '../../base/json.ts';
import { ARTIFACT_ASKS, folderName, side } from '../artifacts/words.ts';
import { AGAIN_MAX, attemptKey } from '../attempt-key.ts';
import { check } from '../check.ts';
import { type Contract, MIB } from '../contract.ts';
import { must, rulesFor, versionRule } from '../rule.ts';
import { anyObject, contentHashText, filledText, record, variableName } from '../shape.ts';
import { suiteCase, suiteCaseExample, suiteRequest, suiteSettingsShape, suiteTargetShape } from '../suite/index.ts';

const attemptRequestShape = record({
  schema_version: z.literal('attempt-request.v1'),
  /** The idempotency key: run, case and attempt, and `again` if present. */
  key: filledText(),
  run_id: folderName(),
  version: side(),
  attempt: z.int().check(z.gte(1)),
  /** Another worker made this attempt before. This is the n-th request to make it again. */
  again: z.optional(z.int().check(z.gte(1), z.lte(AGAIN_MAX))),
  target: suiteTargetShape,
  target_sha256: contentHashText(),
  settings: suiteSettingsShape,
  /** Request headers. The worker takes their values from its own environment. */
  headers: z.array(record({ name: filledText(), env: variableName() })),
  /** All secrets that the attempt uses or masks, by the name of their environment variable. */
  secret_names: z.array(variableName()),
  /** Well-known credentials are stored unmasked. */
  keep_credentials: z.optional(z.literal(true)),
  /** The limits of a script, and the profile that they name. */
  script: z.optional(record({ requested: requestedShape, profile: z.optional(profileShape) })),
  /** A suite-case.v1 document. */
  case: anyObject(),
});

/** The document in a queue that says what a worker sends. */
export type AttemptQuestion = z.infer<typeof attemptRequestShape>;

/** The digests of the blobs that a worker reads for an attempt: its script. The document may come from anyone. */
export function blobsOfAttempt(text: string): ContentHash[] {
  const reading = readJson(Buffer.from(text), { bytesMax: attemptRequest.bytesMax });
  const { target } = (reading.ok ? (reading.value ?? {}) : {}) as { target?: unknown };
  const { kind, sha256 } = (target ?? {}) as { kind?: unknown; sha256?: unknown };
  const isDigest = typeof sha256 === 'string' && /^sha256:[0-9a-f]{64}$/.test(sha256);
  return kind === 'script' && isDigest ? [sha256 as ContentHash] : [];
}

const rule = rulesFor<AttemptQuestion>();

const { example: exampleRequest } = suiteRequest as { example: AttemptQuestion };

const example: AttemptQuestion = {
  schema_version: 'attempt-request.v1',
  key: `${exampleRequest.run_id}/refund-small/1`,
  run_id: exampleRequest.run_id,
  version: 'new',
  attempt: 1,
  target: exampleRequest.target,
  target_sha256: exampleRequest.target_sha256,
  settings: exampleRequest.settings,
  headers: [{ name: 'authorization', env: 'AGENT_TOKEN' }],
  secret_names: ['AGENT_TOKEN'],
  case: suiteCaseExample,
};

const rules = [
  versionRule('AQ1', 'Attempt Request Version Known', 'attempt-request.v1', 'a request'),
  rule({
    id: 'AQ2',
    title: 'Attempt Named',
    why: 'The key lets an attempt begin at most once, so it must name exactly one attempt.',
    asks: [
      'run_id is a valid folder name, version is baseline or new, and attempt is an integer, at least 1',
      'key is the run_id, the id of the case and the attempt, with slashes between them; a slash and again follow, if present',
      'again, if present, is an integer from 1 to 99: another worker made this attempt before',
    ],
    fields: ['key', 'run_id', 'version', 'attempt', 'again'],
    reads: ['case'],
    *check({ key, run_id, attempt, again, case: one }) {
      if (key !== attemptKey({ run_id, case_id: String(one['id']), attempt, again }))
        yield must('key', 'does not name the run, the case and the attempt');
    },
    breach: request => ({ ...request, attempt: 7 }),
  }),
  rule({
    id: 'AQ3',
    title: 'Attempt Complete',
    why: 'A worker knows nothing about the run except this document.',
    asks: [
      'target and settings are those of the suite request',
      ...ARTIFACT_ASKS.targetUrl,
      'target_sha256 is the content hash of target',
      'case is a suite-case.v1 document that keeps its rules',
      'script is present if and only if the target is a script: requested has its limits, and profile is the one that requested names',
    ],
    fields: ['target', 'target_sha256', 'settings', 'script', 'case'],
    *check({ target, target_sha256, script, case: one }) {
      if ((target.kind === 'script') !== (script !== undefined))
        yield must('script', 'must be present if and only if the target is a script');
      if (script && script.requested.profile !== (script.profile?.name ?? null))
        yield must('script.profile', 'is not the profile that requested names');
      if (contentHash(target) !== target_sha256) yield must('target_sha256', 'is not the content hash of target');
      if (check(suiteCase, one, { strict: false, internal: false }).violations.length > 0)
        yield must('case', 'breaks a rule of suite-case.v1');
    },
    breach: request => ({ ...request, target_sha256: `sha256:${'0'.repeat(64)}` }),
  }),
  rule({
    id: 'AQ4',
    title: 'Secrets By Name',
    why: 'Every worker can read the queue, so it must not contain a secret.',
    asks: [
      'headers is a list of name and env, the environment variable with the value',
      'secret_names is a list of environment variables and contains every env of headers',
      'keep_credentials, if present, is true: well-known credentials are not masked',
    ],
    fields: ['headers', 'secret_names', 'keep_credentials'],
    *check({ headers, secret_names: names }) {
      for (const [index, { env }] of headers.entries())
        if (!names.includes(env)) yield must(`headers[${index}].env`, 'is missing in secret_names');
    },
    breach: request => ({ ...request, secret_names: [] }),
  }),
];

export const attemptRequest: Contract = {
  name: 'attempt-request',
  title: 'Attempt for a worker',
  tells: 'One attempt that a worker makes: the case, the target, the limits, and the names of the secrets.',
  source: 'Queue of Proctor',
  version: { field: 'schema_version', value: 'attempt-request.v1' },
  shape: attemptRequestShape,
  rules,
  unknownKeys: 'AQ1',
  programText: ['target', 'case'],
  beyond: ['the values of the secrets'],
  bytesMax: 8 * MIB,
  example,
};
