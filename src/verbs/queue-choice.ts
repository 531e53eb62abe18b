import { Fault } from '../base/fault.ts';
import type { SuiteTarget } from '../contracts/suite/index.ts';
import { type AttemptRequest, type Queue, SLOTS_MAX } from '../queue/queue.ts';
import { isApi } from '../targets/kinds/kinds.ts';
import { trustedWorkers } from './worker-keys.ts';

/** How a suite is run by workers. */
export interface QueueOptions {
  /** The queue that workers take attempts from: the URL of a PostgreSQL database, or an open queue. */
  readonly queue?: string | Queue;
  /** A folder that this process and the workers share, or `s3://…`, for replies and cases that are too large for the queue. */
  readonly store?: string;
  /** Whether to retry an attempt whose worker was lost; `again` by default. */
  readonly lost?: 'again' | 'never';
  /** From -10 to 10; 0 by default. Attempts with a higher priority are made first. */
  readonly priority?: number;
  /** How many attempts at this target are active at once, over all runs: 1, 2, 4, 8, 16, 32 or 64. */
  readonly targetSlots?: number;
  /** After this long without a beat, a worker counts as lost; 30 seconds by default, at least 10. */
  readonly heartbeatMs?: number;
  /** Files with the public keys of the workers to trust; by default every worker of the queue. */
  readonly workerKeys?: readonly string[];
  /** How long an attempt may wait for a second worker; by default its timeout and 30 seconds. */
  readonly twiceWaitMs?: number;
}

/** Rejects options that contradict each other or that a queue cannot serve, before anything is written. */
export function checkQueueOptions({
  queue,
  cwd = process.cwd(),
  ...others
}: QueueOptions & { readonly cwd?: string }): void {
  const { lost, priority = 0, targetSlots, heartbeatMs = HEARTBEAT_MS_MIN, workerKeys } = others;
  const named = Object.keys(FLAGS).find(name => others[name as keyof typeof others] !== undefined);
  if (queue === undefined && named !== undefined)
    throw new Fault('usage', `${FLAGS[named] ?? named} requires a queue. Add --queue.`);
  if (lost !== undefined && lost !== 'again' && lost !== 'never')
    throw new Fault('usage', 'lost must be "again" or "never".');
  if (!Number.isSafeInteger(priority) || Math.abs(priority) > PRIORITY_MAX)
    throw new Fault('usage', `The priority must be a whole number from -${PRIORITY_MAX} to ${PRIORITY_MAX}.`);
  if (!Number.isSafeInteger(heartbeatMs) || heartbeatMs < HEARTBEAT_MS_MIN || heartbeatMs > HEARTBEAT_MS_MAX)
    throw new Fault('usage', 'The heartbeat must be from 10s to 10m.');
  targetSlotsOf(targetSlots);
  trustedWorkers(workerKeys, cwd);
}

const FLAGS: Readonly<Record<string, string>> = {
  lost: '--lost',
  targetSlots: '--target-slots',
  store: '--store',
  priority: '--priority',
  heartbeatMs: '--heartbeat',
  workerKeys: '--worker-key',
};

const PRIORITY_MAX = 10;
const HEARTBEAT_MS_MIN = 10_000;
const HEARTBEAT_MS_MAX = 600_000;

export function targetSlotsOf(slots: number | undefined): NonNullable<AttemptRequest['slots']>['max'] | undefined {
  const known = SLOTS_MAX.find(max => max === slots);
  if (slots !== undefined && known === undefined)
    throw new Fault('usage', `The slots of a target must be one of ${SLOTS_MAX.join(', ')}.`);
  return known;
}

/** A script or an agent and its evidence are too large for the queue. */
export function checkStoreFor({ kind }: SuiteTarget, { store }: Pick<QueueOptions, 'store'>): void {
  if ((kind !== 'script' && kind !== 'agent') || store !== undefined) return;
  throw new Fault(
    'usage',
    kind === 'agent'
      ? 'The tree of an agent and its evidence reach the workers through a store. Add --store: a folder that all workers share, or s3://….'
      : 'A script and its evidence reach the workers through a store. Add --store: a folder that all workers share, or s3://….',
  );
}

/** Workers send HTTP requests, and run scripts and agents. They start no servers. */
export function checkQueueable(target: SuiteTarget): asserts target is QueueableTarget {
  if (target.kind === 'script' || target.kind === 'agent') return;
  const isHttp = target.kind === 'http' && !target.url.includes('?');
  const isDeclaredApi = target.kind === 'declared' && isApi(target.declaration) && !target.declaration.start;
  if (isHttp || isDeclaredApi) return;
  throw new Fault(
    'not_queueable',
    target.kind === 'http'
      ? 'Proctor does not store the query values of a URL, so workers cannot know them. Pass them in a header.'
      : 'Workers can run scripts and agents, and ask HTTP APIs that are already running. Run this suite without --queue.',
  );
}

type QueueableTarget = Extract<SuiteTarget, { kind: 'http' | 'declared' | 'script' | 'agent' }>;

export const QUEUE_OPTIONS: Record<keyof QueueOptions, true> = {
  queue: true,
  store: true,
  lost: true,
  priority: true,
  targetSlots: true,
  heartbeatMs: true,
  workerKeys: true,
  twiceWaitMs: true,
};
