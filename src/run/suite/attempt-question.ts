import { Fault } from '../../base/fault.ts';
import { readJson } from '../../base/json.ts';
import { bytesHash, type ContentHash, isContentHash } from '../../base/hash.ts';
import { type AttemptQuestion, attemptRequest } from '../../contracts/attempt-request/index.ts';
import { limitsRecord } from '../../contracts/script-limits.ts';
import type { SuiteCase, SuiteRequest, SuiteTarget } from '../../contracts/suite/index.ts';
import { keepsContract } from '../../evidence/document.ts';
import type { SuitePlan } from '../../evidence/suite/suite-run.ts';
import type { Requested } from '../../policy/effective-limits.ts';
import { type NeededScript, QUEUE_TEXT_BYTES_MAX } from '../../queue/queue.ts';
import { blobBytes } from '../../store/blob-bytes.ts';
import type { BlobStore } from '../../store/store.ts';

/**
 * The versions of the document that workers of this release read. A release that adds one keeps the one before, so that
 * conductors can be updated after workers.
 */
const ATTEMPT_PROTOCOLS: readonly [number, ...number[]] = [1];
/** The version that conductors of this release write. */
export const ATTEMPT_PROTOCOL = Math.max(...ATTEMPT_PROTOCOLS);

/**
 * The number of the same version with `again`. A number of its own, so that workers of an earlier release make first
 * attempts, but never second ones.
 */
export function againProtocol(protocol: number): number {
  return 100 + protocol;
}

/** The number of published-request.v1: runs of published scripts. Workers of an earlier release do not claim them. */
export const PUBLISHED_PROTOCOL = 201;

/** Everything that a worker of this release reads. */
export const WORKER_PROTOCOLS: readonly number[] = [
  ...ATTEMPT_PROTOCOLS,
  ...ATTEMPT_PROTOCOLS.map(againProtocol),
  PUBLISHED_PROTOCOL,
];

/** The part of a plan that workers learn. */
export type AskedPlan = Pick<SuitePlan, 'request' | 'headers' | 'bounds'> & {
  /** What an agent starts from. */
  readonly agentTree?: NonNullable<AttemptQuestion['agent']>['tree'] | undefined;
};

/** Writes the attempts of a run as documents for a worker. */
export class QuestionWriter {
  readonly #begin: string;

  constructor({ request, headers, bounds, agentTree }: AskedPlan) {
    const shared: Omit<AttemptQuestion, 'key' | 'attempt' | 'case'> = {
      schema_version: 'attempt-request.v1',
      run_id: request.run_id,
      version: request.version,
      target: request.target,
      target_sha256: request.target_sha256,
      settings: request.settings,
      headers: headers.map(({ name, env }) => ({ name, env })),
      secret_names: request.secret_names,
      ...(request.keep_credentials && { keep_credentials: true as const }),
      ...(request.target.kind === 'script' && { script: scriptNote(request.target, bounds) }),
      ...(agentTree && { agent: { tree: agentTree } }),
    };
    // All attempts share most of the text.
    this.#begin = JSON.stringify(shared).slice(0, -1);
  }

  /** `again` if another worker made the attempt before. */
  write(one: SuiteCase, attempt: number, key: string, again?: number): string {
    const own = JSON.stringify({ key, attempt, again, case: one });
    return `${this.#begin},${own.slice(1)}`;
  }
}

/** The limits of a script. They never allow a weaker isolation than that of the target. */
export function scriptNote(
  { sandbox, isolation }: Extract<SuiteTarget, { kind: 'script' }>,
  bounds: Requested,
): NonNullable<AttemptQuestion['script']> {
  const { profile } = bounds;
  const requested = {
    profile: profile?.name ?? null,
    sandbox,
    isolation: isolation === 'strict' ? isolation : (bounds.isolation ?? null),
    ...limitsRecord(bounds),
  };
  return { requested, ...(profile && { profile }) };
}

/** The text for the queue: the document itself, or its digest if only the store can hold it. */
export async function queuedText(text: string, store: BlobStore | undefined): Promise<string | undefined> {
  const bytes = Buffer.from(text);
  if (bytes.length <= QUEUE_TEXT_BYTES_MAX) return text;
  if (!store) return undefined;
  const digest = bytesHash(bytes);
  await store.put(digest, only(bytes), bytes.length);
  return digest;
}

async function* only(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Reads what a queue delivered. It may come from anyone who can write to the queue. */
export async function readQuestion(text: string, store: BlobStore | undefined): Promise<AttemptQuestion> {
  const bytes = isContentHash(text) ? await fromStore(text, store) : Buffer.from(text);
  const reading = readJson(bytes, { bytesMax: attemptRequest.bytesMax });
  if (!reading.ok || !keepsContract(reading.value, attemptRequest))
    throw new Fault('attempt_request', 'The attempt breaks a rule of attempt-request.v1.');
  return reading.value as AttemptQuestion;
}

async function fromStore(digest: ContentHash, store: BlobStore | undefined): Promise<Buffer> {
  const bytes = await blobBytes(store, digest, attemptRequest.bytesMax);
  if (bytes === 'missing')
    throw new Fault('no_blob', 'The attempt is in a store that this worker does not have. Start it with --store.');
  if (bytes === 'too large') throw new Fault('attempt_request', 'The attempt is too large.');
  return bytes;
}

/** What a worker must offer: how it makes the attempt, and the names of all secrets. */
export function attemptNeeds({ target, secret_names: names }: Pick<SuiteRequest, 'target' | 'secret_names'>): string {
  return needsWith(needsOf(target), names);
}

function needsOf(target: SuiteTarget): string {
  if (target.kind === 'script') return `script/${target.sandbox}/${target.isolation}`;
  return target.kind === 'agent' ? agentNeeds(target) : HTTP_NEEDS;
}

/** An agent by its version and the digest of its program, so that only a worker with the same one claims the attempt. */
export function agentNeeds({ name, version, isolation, sha256 }: NeededAgent): string {
  // A plus sign would separate the names of secrets.
  return `agent/${name}/${version.replace(/[^\w.-]/g, '_').slice(0, VERSION_CHARS_MAX)}/${isolation}/${sha256}`;
}

type NeededAgent = Pick<Extract<SuiteTarget, { kind: 'agent' }>, 'name' | 'version' | 'isolation' | 'sha256'>;

const VERSION_CHARS_MAX = 100;

/** The script of an attempt, for the queue. Workers decide on what the request itself says. */
export function attemptScript(target: SuiteTarget, bounds: Requested): NeededScript | undefined {
  if (target.kind !== 'script') return undefined;
  const isOpen = target.sandbox === 'none' || bounds.profile?.allow_network === true;
  return { sha256: target.sha256, network: isOpen ? 'open' : 'blocked' };
}

export const HTTP_NEEDS = 'http';

/** Everything that a worker with these secrets can serve: `needs` with every subset of the names. */
export function offeredNeeds(needs: string, names: readonly string[]): string[] {
  if (names.length > SECRETS_MAX)
    throw new Fault('usage', `A worker can have at most ${SECRETS_MAX} secrets. Start a second worker for the others.`);
  const subsets: string[][] = [[]];
  for (const name of new Set(names)) subsets.push(...subsets.map(subset => [...subset, name]));
  return subsets.map(subset => needsWith(needs, subset));
}

/** The number of subsets doubles with every name. */
const SECRETS_MAX = 5;

function needsWith(needs: string, names: readonly string[]): string {
  return [needs, ...[...new Set(names)].sort()].join('+');
}
