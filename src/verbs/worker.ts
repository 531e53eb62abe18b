import { hostname } from 'node:os';
import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { contentHash } from '../base/hash.ts';
import { newCorrelationId } from '../base/ids.ts';
import { VERSION } from '../base/version.ts';
import type { AttemptQuestion } from '../contracts/attempt-request/index.ts';
import { homeFrom } from '../evidence/run-folder/runs.ts';
import type { OfferedScripts, Queue } from '../queue/queue.ts';
import { runnerHere } from '../run/pipeline/runner-plan.ts';
import { HTTP_NEEDS, offeredNeeds } from '../run/suite/attempt-question.ts';
import { DEFAULT_SETTINGS, settingsFrom } from '../run/suite/settings.ts';
import type { Target } from '../run/suite/target.ts';
import { declarationFaults } from '../targets/declaration-faults.ts';
import type { BlobStore } from '../store/store.ts';
import type { Tracer } from '../trace/tracer.ts';
import { folderSpool } from '../work/spool.ts';
import { runWorker, type WorkerEvent } from '../work/worker.ts';
import { declaredFor } from './declared.ts';
import { newKey, signerAt } from './keys.ts';
import { refuseUnknown } from './options.ts';
import { checkQueueable } from './queue-choice.ts';
import { storeAt, withQueue } from './queued-suite.ts';
import { httpFor } from './suite-targets.ts';
import { checkedSettings } from './suite-words.ts';
import type { AgentWorker } from './worker-agents.ts';
import { openWorkerHome } from './worker-home.ts';
import { workerPublished } from './worker-published.ts';
import { allowedScripts, scriptNeeds, type ScriptWorker, workerScript } from './worker-scripts.ts';

export interface WorkerOptions {
  /** The queue to take attempts from: the URL of a PostgreSQL database, or an open queue. */
  readonly queue?: string | Queue;
  /** The server to take attempts from, instead of a queue. */
  readonly on?: ServerOfQueue;
  /** How many attempts to make at once. */
  readonly slots?: number;
  /** The name of this worker in evidence; the host name and a random part by default. */
  readonly name?: string;
  /** The values of secrets that attempts may use, by variable name. */
  readonly secrets?: Readonly<Record<string, string>>;
  /** The scripts that attempts may run, by SHA-256, or `any`; none by default. */
  readonly allowScripts?: readonly string[];
  /** The agents that attempts may run, such as `claude`; none by default. Their model keys come from `environment`. */
  readonly allowAgents?: readonly string[];
  /** The origins that attempts may ask. Required with `secrets`; all by default without. */
  readonly allowTargets?: readonly string[];
  /** A folder that workers and conductors share, or `s3://…`, for replies and cases that are too large for the queue. */
  readonly store?: string;
  /** How long attempts may take after the signal; 10 minutes by default. */
  readonly drainMs?: number;
  /** The variables with the credentials of an S3 store and of the models of agents, and the PATH of agents. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** The key that signs outcomes; the key in `.proctor` by default, which is created if there is none. */
  readonly signingKey?: string;
  readonly signal?: AbortSignal;
  readonly onReady?: (ready: { readonly worker: string; readonly keyId: string }) => void;
  readonly onEvent?: (event: WorkerEvent) => void;
  /** Exports a span for every attempt, below the span of the run. */
  readonly tracer?: Tracer;
}

/** A server with `--queue`, and a token with the role worker. */
export interface ServerOfQueue {
  readonly url: string;
  readonly token: string;
}

/** Makes attempts from a queue until the signal, then finishes those under way. */
export async function runQueueWorker(options: WorkerOptions): Promise<void> {
  refuseUnknown('runQueueWorker', options, OPTIONS);
  const { cwd = process.cwd(), slots = SLOTS, secrets = {}, drainMs = DRAIN_MS } = options;
  if (!Number.isSafeInteger(slots) || slots < 1 || slots > SLOTS_MOST)
    throw new Fault('usage', `The slots of a worker must be from 1 to ${SLOTS_MOST}.`);
  if (options.on && (options.queue !== undefined || options.store !== undefined))
    throw new Fault('usage', 'The server has the queue and the store. Omit --queue and --store, or --on.');
  if (Object.keys(secrets).length > 0 && !options.allowTargets) throw new Fault('usage', NO_ORIGINS);
  const allowed = allowedScripts(options.allowScripts, options.allowTargets !== undefined);
  const agents = await agentsIn(options.allowAgents);
  const names = Object.keys(secrets);
  if ((allowed || agents) && !options.on && options.store === undefined) throw new Fault('usage', NO_STORE);
  const name = checkedName(options.name ?? `${hostname().slice(0, HOST_CHARS)}-${newCorrelationId().slice(0, 8)}`);
  const signer = signerAt(cwd, options.signingKey) ?? newSigner(cwd);
  options.tracer?.protect(Object.values(secrets));
  const { runner_id: _, ...identity } = runnerHere([]).identity;
  const own = { name, version: VERSION, environmentHash: contentHash(identity), signer };
  const simple = [...offeredNeeds(HTTP_NEEDS, names), ...(allowed ? await needsOfScripts(allowed, names) : [])];
  await withSource(options, cwd, async ({ queue, store, claimMs }) => {
    const home = allowed || agents ? await openWorkerHome(homeFrom(cwd), name, cwd) : undefined;
    const place = home && { store, home: home.folder, signer };
    const scripts = place && allowed && { ...place, allowed };
    const { environment = {} } = options;
    const ofAgents = place && agents && { ...place, allowed: agents, environment };
    const allowedWork = { values: secrets, origins: options.allowTargets, scripts, agents: ofAgents };
    try {
      const offered = [...simple, ...(ofAgents ? await needsOfAgents(ofAgents) : [])];
      if (offered.length > NEEDS_MAX) throw new Fault('usage', TOO_MANY);
      options.onReady?.({ worker: name, keyId: signer.keyId });
      await runWorker({
        queue,
        needs: offered,
        ...(scripts && { scripts: scripts.allowed }),
        slots,
        reporter: { ...own, store },
        ...(claimMs !== undefined && { claimMs }),
        makeTarget: async (question, connections) => {
          const target = await workerTarget(question, connections, allowedWork);
          return options.tracer ? tracedWork(target, question, options.tracer, name) : target;
        },
        ...(scripts && { makePublished: (request, ended) => workerPublished(request, scripts, ended) }),
        spool: folderSpool(path.join(homeFrom(cwd), 'spool')),
        drainMs,
        signal: options.signal ?? new AbortController().signal,
        ...(options.onEvent && { onEvent: options.onEvent }),
      });
    } finally {
      await home?.close();
    }
  });
}

/** A worker that allows any script gives no script its secrets. */
async function needsOfScripts(allowed: OfferedScripts, names: readonly string[]): Promise<string[]> {
  const { needs, hasSecrets } = await scriptNeeds(allowed);
  return needs.flatMap(one => offeredNeeds(one, hasSecrets ? names : []));
}

/** The code of agents is large, and most workers run none. */
async function agentsIn(words: readonly string[] = []): Promise<readonly string[] | undefined> {
  if (words.length === 0) return undefined;
  const { allowedAgents } = await import('./worker-agents.ts');
  return allowedAgents(words);
}

async function needsOfAgents(agents: AgentWorker): Promise<readonly string[]> {
  const { offeredAgents } = await import('./worker-agents.ts');
  return offeredAgents(agents);
}

const TOO_MANY = 'The worker has too many secrets for what it offers. Start a second worker for some of them.';

const NO_STORE =
  'Scripts, agents and their evidence travel through a store. Add --store: the folder or s3://… that the conductors use.';

interface WorkSource {
  readonly queue: Queue;
  readonly store: BlobStore | undefined;
  readonly claimMs?: number;
}

async function withSource(
  options: WorkerOptions,
  cwd: string,
  use: (source: WorkSource) => Promise<void>,
): Promise<void> {
  if (options.on) {
    const { openServerQueue } = await import('./server-queue.ts');
    return use(await openServerQueue(options.on, options.signal));
  }
  const store = await storeAt(options.store, cwd, options.environment);
  return withQueue(options, queue => use({ queue, store }));
}

const NO_ORIGINS =
  'A worker with secrets needs --allow-target ORIGIN, because anyone who can write to the queue chooses where attempts are sent.';
/** As many as a server accepts. */
const NEEDS_MAX = 64;
const SLOTS = 4;
const SLOTS_MOST = 256;
const DRAIN_MS = 600_000;
const HOST_CHARS = 60;

const OPTIONS: Record<keyof WorkerOptions, true> = {
  queue: true,
  on: true,
  slots: true,
  name: true,
  secrets: true,
  allowScripts: true,
  allowAgents: true,
  allowTargets: true,
  store: true,
  drainMs: true,
  environment: true,
  cwd: true,
  signingKey: true,
  signal: true,
  onReady: true,
  onEvent: true,
  tracer: true,
};

function checkedName(name: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(name)) return name;
  throw new Fault('usage', 'The name of a worker has 1 to 100 letters, digits, ".", "_" and "-".');
}

/** Every outcome is signed, so a worker without a key creates one. Workers that start together share it. */
function newSigner(cwd: string): NonNullable<ReturnType<typeof signerAt>> {
  try {
    newKey(cwd);
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'key_exists') throw error;
  }
  const signer = signerAt(cwd);
  if (!signer) throw new Fault('bad_key', 'The signing key of the worker cannot be read.');
  return signer;
}

/** What the operator of a worker allows. */
interface AllowedWork {
  readonly values: Readonly<Record<string, string>>;
  readonly origins: readonly string[] | undefined;
  readonly scripts: ScriptWorker | undefined;
  readonly agents: AgentWorker | undefined;
}

/** Opens the target of an attempt, if the operator allows it. */
async function workerTarget(
  question: AttemptQuestion,
  connections: number,
  { values, origins, scripts, agents }: AllowedWork,
): Promise<Target> {
  const { target, run_id, version, keep_credentials } = question;
  checkQueueable(target);
  refuseDeclaration(target);
  // Otherwise, a request could make this worker read an answer of any size into memory.
  const checked = checkedSettings(settingsFrom(question.settings), DEFAULT_SETTINGS);
  const value = (name: string): string => {
    const found = Object.hasOwn(values, name) ? values[name] : undefined;
    if (found === undefined)
      throw new Fault('not_offered', 'The attempt needs a secret that this worker does not have.');
    return found;
  };
  const headers = question.headers.map(({ name, env }) => ({ name, env, value: value(env) }));
  const taken = new Set(headers.map(({ env }) => env));
  const names = question.secret_names.filter(name => !taken.has(name));
  const secrets = Object.fromEntries(names.map(name => [name, value(name)]));
  if (target.kind === 'script') {
    if (!scripts) throw new Fault('not_offered', 'This worker runs no scripts. Start it with --allow-script.');
    return workerScript(question, secrets, scripts);
  }
  if (target.kind === 'agent') {
    if (!agents) throw new Fault('not_offered', 'This worker runs no agents. Start it with --allow-agent.');
    const { workerAgent } = await import('./worker-agents.ts');
    return workerAgent(question, agents);
  }
  const request = { run_id, version, ...(keep_credentials && { keep_credentials }) };
  const settings = { ...checked, concurrency: connections };
  refuseOrigin(target, origins);
  return target.kind === 'declared'
    ? declaredFor(target, { request }, { secrets }, settings)
    : httpFor(target, { request }, { headers, secrets }, settings);
}

/** Adds the span of the worker to every attempt. */
async function tracedWork(target: Target, question: AttemptQuestion, tracer: Tracer, worker: string): Promise<Target> {
  const { tracedTarget } = await import('../run/suite/traced-target.ts');
  return tracedTarget(target, {
    tracer,
    span: 'proctor.work',
    runId: question.run_id,
    target: question.target,
    worker,
  });
}

/** The request may come from anyone who can write to the queue: a header such as `host` would lead to another target. */
function refuseDeclaration(target: AttemptQuestion['target']): void {
  if (target.kind !== 'declared') return;
  for (const _ of declarationFaults(target.declaration))
    throw new Fault('attempt_request', 'The target of the attempt breaks a rule of target files.');
}

function refuseOrigin(target: AttemptQuestion['target'], origins: readonly string[] | undefined): void {
  if (!origins) return;
  const url =
    target.kind === 'http'
      ? target.url
      : target.kind === 'declared' && 'url' in target.declaration
        ? target.declaration.url
        : '';
  const origin = url !== undefined && URL.canParse(url) ? new URL(url).origin : undefined;
  if (origin === undefined || !origins.includes(origin))
    throw new Fault('not_offered', 'This worker may not ask this target. Allow it with --allow-target.');
}
