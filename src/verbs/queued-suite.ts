import { rmSync } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { Fault } from '../base/fault.ts';
import { bytesHash } from '../base/hash.ts';
import { followLink, readRegular } from '../base/regular.ts';
import { askedAt } from '../contracts/suite/index.ts';
import { attemptsIn, type RunFolder } from '../evidence/run-folder/runs.ts';
import { suiteCases } from '../evidence/suite/suite-folder.ts';
import type { SuitePlan } from '../evidence/suite/suite-run.ts';
import type { Queue } from '../queue/queue.ts';
import { answeredCase } from '../run/suite/artifact.ts';
import type { TakeRun } from '../run/suite/reported-attempt.ts';
import { queuedTarget } from '../run/suite/queued-target.ts';
import type { TwiceRun } from '../run/suite/second-attempt.ts';
import { settingsFrom } from '../run/suite/settings.ts';
import type { Target } from '../run/suite/target.ts';
import type { BlobStore } from '../store/store.ts';
import { replyReader } from '../targets/reader.ts';
import { checkStoreFor, type QueueOptions, targetSlotsOf } from './queue-choice.ts';
import type { RunSuiteOptions, StartedSuiteRun } from './run-suite.ts';
import type { SentAgent } from './suite-agents.ts';
import { trustedWorkers } from './worker-keys.ts';

/** Opens the queue of a run for as long as `use` takes. A queue that the caller opened stays open. */
export async function withQueue<Result>(
  { queue, heartbeatMs }: QueueOptions,
  use: (queue: Queue) => Promise<Result>,
): Promise<Result> {
  if (queue === undefined)
    throw new Fault(
      'usage',
      'Workers make the attempts of this run. Specify their queue with --queue, or PROCTOR_QUEUE.',
    );
  if (typeof queue !== 'string') return use(queue);
  const { openQueue } = await import('./queue.ts');
  const opened = await openQueue(queue, heartbeatMs === undefined ? {} : { heartbeatMs });
  try {
    return await use(opened);
  } finally {
    await opened.close();
  }
}

type QueuedContext = QueueOptions & Pick<StartedSuiteRun, 'cwd' | 'onWarning' | 'environment' | 'secrets' | 'home'>;

/** The target of a run whose attempts workers make. */
export async function queuedFor(plan: SuitePlan, context: QueuedContext, folder: string): Promise<Target> {
  const { request } = plan;
  const settings = settingsFrom(request.settings);
  const { queue, lost = 'again', priority = 0, targetSlots, workerKeys, cwd = process.cwd(), onWarning } = context;
  if (typeof queue !== 'object') throw new Fault('internal', 'The queue is not open.');
  const store = await storeAt(context.store, cwd, context.environment);
  const sent = await sentRuns(plan, store, context, folder);
  const queued = {
    queue,
    plan: { ...plan, agentTree: sent.tree },
    side: request.version,
    read: replyReader(request.target, settings.bodyBytesMax),
    bodyBytesMax: settings.bodyBytesMax,
    store,
    takeRun: sent.takeRun,
    trusted: trustedWorkers(workerKeys, cwd),
    lost,
    priority,
    targetSlots: targetSlotsOf(targetSlots),
    onWarning,
  };
  if (!request.twice) return queuedTarget(queued);
  const { twiceTarget } = await import('../run/suite/second-attempt.ts');
  const { earlyVerdict } = await import('../judge/suite/early-verdict.ts');
  const named = { side: request.version, url: askedAt(request.target), settings };
  const verdictOf: TwiceRun['verdictOf'] = (one, answer, latencyMs) => {
    const attempt = { attempt: 1, started_at: NO_TIME, outcome: 'ok', latency_ms: latencyMs } as const;
    return earlyVerdict(one, answeredCase({ ...named, id: one.id }, [attempt], answer).artifact);
  };
  return twiceTarget(queuedTarget(queued), { ...queued, verdictOf, secondWaitMs: context.twiceWaitMs });
}

/** Expectations do not look at the start of an attempt. */
const NO_TIME = '1970-01-01T00:00:00.000Z';

/** How the runs of a script or an agent come back, and what the agent starts from. */
async function sentRuns(
  plan: SuitePlan,
  store: BlobStore | undefined,
  context: QueuedContext,
  folder: string,
): Promise<Partial<SentAgent>> {
  const { target } = plan.request;
  if (target.kind !== 'script' && target.kind !== 'agent') return {};
  checkStoreFor(target, context);
  if (!store) throw new Fault('internal', 'The store is not open.');
  if (target.kind === 'script') return { takeRun: await scriptRuns(plan, target, store, context) };
  if (!plan.agent) throw new Fault('internal', 'The plan has no agent.');
  const { sentAgent } = await import('./suite-agents.ts');
  return sentAgent(plan, plan.agent, context, store, folder);
}

/** Puts the script into the store, and says how its runs come back. */
async function scriptRuns(
  plan: SuitePlan,
  target: Extract<SuitePlan['request']['target'], { kind: 'script' }>,
  store: BlobStore,
  context: QueuedContext,
): Promise<TakeRun> {
  const [{ runTaker }, { sentScripts }] = await Promise.all([import('./taken-runs.ts'), import('./taken-scripts.ts')]);
  const script = plan.script === null ? undefined : readRegular(followLink(plan.script), target.bytes);
  if (!script || bytesHash(script) !== target.sha256)
    throw new Fault('script_changed', 'The script changed since the run started. Restore it, or start a new run.');
  await store.put(target.sha256, Readable.from([script]), script.length);
  const { request } = plan;
  const reader = {
    side: request.version,
    secrets: context.secrets ?? {},
    keepCredentials: request.keep_credentials === true,
    settings: settingsFrom(request.settings),
  };
  return runTaker(sentScripts(plan, target, reader), attemptsIn(context.home), store);
}

/** The store with this address: `s3://…`, or a folder. */
export async function storeAt(
  address: string | undefined,
  cwd: string,
  environment: NonNullable<RunSuiteOptions['environment']> = {},
): Promise<BlobStore | undefined> {
  if (address === undefined) return undefined;
  const { openStore } = await import('./store.ts');
  return openStore(address.startsWith('s3://') ? address : path.resolve(cwd, address), environment);
}

/**
 * Refuses a new run if attempts of its name have begun, unless their outcomes count only if trusted workers signed them:
 * nothing else proves that this user began the run.
 */
export async function refuseKnownRun(
  places: readonly RunFolder[],
  queue: Queue,
  { workerKeys }: QueueOptions,
): Promise<void> {
  if (workerKeys) return;
  for (const { id, folder } of places) {
    const keys = [...suiteCases(folder)].map(one => `${id}/${one.id}/1`);
    for (let from = 0; from < keys.length; from += KEYS_AT_ONCE) {
      const some = keys.slice(from, from + KEYS_AT_ONCE);
      const known = await queue.outcomes(some, { waitMs: 0 });
      if (known.size === 0 && (await queue.begun(some)).size === 0) continue;
      for (const place of places) rmSync(place.folder, { recursive: true, force: true });
      throw new Fault(
        'run_known',
        `The queue already has attempts of a run called ${id}. Choose another name. To make the folder of that run again, specify the keys of the workers that you trust with --worker-key.`,
      );
    }
  }
}

const KEYS_AT_ONCE = 1_000;
