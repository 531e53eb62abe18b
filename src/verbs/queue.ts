import type { Queue } from '../queue/queue.ts';
import { type WireOverview, wireOverview } from '../queue/wire.ts';
import type { Migrated } from '../queue/postgres/migrate.ts';
import type { PostgresOptions } from '../queue/postgres/queue.ts';

/** Opens the queue of a team. Its code is loaded only here, because most users have no queue. */
export async function openQueue(url: string, options?: PostgresOptions): Promise<Queue> {
  const { openPostgresQueue } = await import('../queue/postgres/queue.ts');
  return openPostgresQueue(url, options);
}

/** Creates or upgrades the tables of a queue. */
export async function migrateQueueTables(url: string): Promise<Migrated> {
  const { migrateQueue } = await import('../queue/postgres/migrate.ts');
  return migrateQueue(url);
}

export async function showQueue(url: string): Promise<WireOverview> {
  const queue = await openQueue(url);
  try {
    return wireOverview(await queue.overview());
  } finally {
    await queue.close();
  }
}
