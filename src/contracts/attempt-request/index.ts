import * as z from 'zod/mini';
import { contentHash, type ContentHash, isContentHash } from '../../base/hash.ts';
import { profileShape } from '../profile/shape.ts';
import { requestedShape } from '../script-request/shape.ts';
import { readJson } from '../../base/json.ts';
import { ARTIFACT_ASKS, folderName, side } from '../artifacts/words.ts';
import { AGAIN_MAX, attemptKey } from '../attempt-key.ts';
import { check } from '../check.ts';
import { type Contract, MIB } from '../contract.ts';
import { isObject } from '../kind.ts';
import { filesOfPublished } from '../published-request/index.ts';
import { must, rulesFor, versionRule } from '../rule.ts';
import { anyObject, contentHashText, count, filledText, record, variableName } from '../shape.ts';
import { objectName } from '../workspace/series.ts';
import {
  CODING_KEYS,
  type CodingKeys,
  suiteCase,
  suiteCaseExample,
  suiteRequest,
  suiteSettingsShape,
  suiteTargetShape,
} from '../suite/index.ts';

/** The largest bundle of a tree. Every store supports blobs of this size. */
export const TREE_BYTES_MAX = 64 * MIB;

const treeShape = record({
  sha256: contentHashText(),
  bytes: count().check(z.gte(1), z.lte(TREE_BYTES_MAX)),
  commit: objectName(),
});

const agentShape = record({ tree: treeShape });

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
  /** What an agent starts from: a git bundle in the store, and its commit. */
  agent: z.optional(agentShape),
  /** A suite-case.v1 document. */
  case: anyObject(),
});

/** The document in a queue that says what a worker sends. */
export type AttemptQuestion = z.infer<typeof attemptRequestShape>;

/** What a case may say about the work of an agent on a worker. The other keys name files of the conductor. */
const SENT_KEYS: ReadonlySet<string> = new Set(['limits', 'model', 'checks'] satisfies (keyof CodingKeys)[]);

/** The first key of a case that does not reach workers. */
export function unsentKey(one: CodingKeys): string | undefined {
  const key = CODING_KEYS.find(known => one[known] !== undefined && !SENT_KEYS.has(known));
  const checks: unknown = one.checks ?? [];
  const hasHidden = Array.isArray(checks) && checks.some(check => objectIn(check)['overlay'] !== undefined);
  return key ?? (hasHidden ? 'overlay' : undefined);
}

/**
 * The digests of the blobs that a worker reads for an attempt: its script, or the policy, the prices and the tree of its
 * agent, or the files of a published script. The document may come from anyone.
 */
export function blobsOfAttempt(text: string): ContentHash[] {
  const value = documentIn(text);
  const published = filesOfPublished(value);
  return published.length > 0 ? published : blobsOfTarget(value);
}

/** The same for a document in the queue itself: at most three. A run of a published script is always in the store. */
export function blobsOfQuestion(text: string): ContentHash[] {
  return blobsOfTarget(documentIn(text));
}

function blobsOfTarget({ target, agent }: Readonly<Record<string, unknown>>): ContentHash[] {
  const { kind, sha256, policy_sha256, prices_sha256 } = objectIn(target);
  const named =
    kind === 'script' ? [sha256] : [policy_sha256, prices_sha256, objectIn(objectIn(agent)['tree'])['sha256']];
  return kind === 'script' || kind === 'agent' ? named.filter(isContentHash) : [];
}

function documentIn(text: string): Readonly<Record<string, unknown>> {
  const reading = readJson(Buffer.from(text), { bytesMax: attemptRequest.bytesMax });
  return objectIn(reading.ok ? reading.value : undefined);
}

function hasOtherKeys(value: object, known: object): boolean {
  return Object.keys(value).some(key => !Object.hasOwn(known, key));
}

function objectIn(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
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
    *check({ key, run_id, attempt, again, case: { id } }) {
      if (typeof id !== 'string' || key !== attemptKey({ run_id, case_id: id, attempt, again }))
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
      'agent is present if and only if the target is an agent: tree has the sha256 of a git bundle, its bytes (at most 64 MiB) and its commit',
      'agent and tree have no other keys',
      'the policy of an agent is the blob policy_sha256 of the target, and its prices are the blob prices_sha256: canonical JSON and a line feed',
      'an agent has no model_mode and no work, and its case has no coding keys except limits, model, and checks without an overlay',
    ],
    fields: ['target', 'target_sha256', 'settings', 'script', 'agent', 'case'],
    *check({ target, target_sha256, script, agent, case: one }) {
      if ((target.kind === 'script') !== (script !== undefined))
        yield must('script', 'must be present if and only if the target is a script');
      if ((target.kind === 'agent') !== (agent !== undefined))
        yield must('agent', 'must be present if and only if the target is an agent');
      // A violation even when not strict: a worker would ignore something about the work.
      if (agent && (hasOtherKeys(agent, agentShape.shape) || hasOtherKeys(agent.tree, treeShape.shape)))
        yield must('agent', 'must have no unknown keys');
      if (target.kind === 'agent') {
        if (target.model_mode !== undefined) yield must('target.model_mode', 'must be absent');
        if (target.work !== undefined) yield must('target.work', 'must be absent');
        const key = unsentKey(one as CodingKeys);
        if (key !== undefined) yield must('case', `has the key ${key}, but workers do not have the files of the suite`);
      }
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
      'an agent has no headers and no secrets',
    ],
    fields: ['headers', 'secret_names', 'keep_credentials'],
    reads: ['target'],
    *check({ target, headers, secret_names: names }) {
      if (target.kind === 'agent' && (names.length > 0 || headers.length > 0))
        yield must('secret_names', 'must be empty for an agent');
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
