import path from 'node:path';
import type { Queue } from '../../queue/queue.ts';
import { openQueue } from '../../verbs/queue.ts';
import { openStore } from '../../verbs/store.ts';
import type { ServerLog } from '../operation/log.ts';
import type { ServerMetrics } from '../operation/metrics.ts';
import { TeamMetrics } from '../operation/team-metrics.ts';
import { QueueContact } from './queue-contact.ts';
import { TeamQueue } from './team-queue.ts';

export interface TeamSettings {
  /** The URL of a PostgreSQL database, or an open queue, which the server closes. */
  readonly queue: string | Queue;
  /** A folder, or `s3://…`, for replies and cases above 64 KiB. */
  readonly store?: string | undefined;
  /** The environment of the server. An S3 store takes its credentials from it, and ordered suites that use the queue need it. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/** How ordered suites reach the queue. Their environment has its address, because other users can read arguments. */
export function queueForOrders(
  settings: TeamSettings | undefined,
  team: TeamQueue | undefined,
  environment = settings?.environment,
) {
  const { queue, store } = settings ?? {};
  if (typeof queue !== 'string' || !team || !environment) return {};
  return {
    queue: team.queue,
    environment: { ...environment, PROCTOR_QUEUE: queue },
    ...(store !== undefined && { store }),
  };
}

/** Opens the queue of a team; undefined if the server has none. */
export async function openTeamQueue(
  cwd: string,
  settings: TeamSettings | undefined,
  { registry }: Pick<ServerMetrics, 'registry'>,
  log: ServerLog,
): Promise<TeamQueue | undefined> {
  if (!settings) return undefined;
  const { queue, store, environment = {} } = settings;
  const address = store === undefined || store.startsWith('s3://') ? store : path.resolve(cwd, store);
  const blobs = address === undefined ? undefined : await openStore(address, environment);
  const opened = typeof queue === 'string' ? await openQueue(queue) : queue;
  const contact = new QueueContact(log);
  return new TeamQueue(opened, blobs, new TeamMetrics(registry, () => contact.answered()), contact);
}
