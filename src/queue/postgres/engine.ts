import { PgBoss } from 'pg-boss';
import { Fault } from '../../base/fault.ts';
import { SLOTS_MAX } from '../queue.ts';
import type { Database, Session } from './database.ts';
import { queueFault } from './faults.ts';
import { ENGINE_SCHEMA, isLimited } from './names.ts';

/**
 * pg-boss: it orders, delivers and expires jobs. Proctor never uses its workers, timers or retries: a job that is lost
 * stays lost until the conductor decides.
 */
export class Engine {
  readonly #boss: PgBoss;
  readonly #known = new Set<string>();

  private constructor(boss: PgBoss) {
    this.#boss = boss;
  }

  static async open(database: Database): Promise<Engine> {
    const boss = new PgBoss({ ...SETTINGS, db: asDb(database) });
    // Only errors of pg-boss's own timers. Our calls report their errors themselves.
    boss.on('error', () => undefined);
    try {
      await boss.start();
    } catch (cause) {
      await boss.stop({ close: false, graceful: false });
      throw cause instanceof Fault ? cause : new Fault('queue_version', OTHER_ENGINE, { cause });
    }
    return new Engine(boss);
  }

  /** Creates or upgrades the tables of pg-boss. */
  static async migrate(database: Database): Promise<void> {
    const boss = new PgBoss({ ...SETTINGS, migrate: true, createSchema: true, db: asDb(database) });
    boss.on('error', () => undefined);
    try {
      await boss.start();
    } catch (cause) {
      throw queueFault(cause);
    } finally {
      await boss.stop({ close: false, graceful: false });
    }
  }

  /** Inserts a row of pg-boss's table `queue`. This is not DDL, because the queue has no partition of its own. */
  async create(queue: string): Promise<void> {
    if (this.#known.has(queue)) return;
    await this.#boss.createQueue(queue, { retryLimit: 0, deleteAfterSeconds: DELETE_AFTER_S });
    this.#known.add(queue);
  }

  async insert(queue: string, jobs: readonly EngineJob[], session: Session): Promise<void> {
    await this.#boss.insert(queue, [...jobs], { db: asDb(session) });
  }

  /**
   * Makes waiting jobs active, the most urgent first, except those of the groups `except`. Limits are exact only
   * if the caller holds the queue's lock.
   */
  async fetch<Data extends object>(
    queue: string,
    count: number,
    session: Session,
    except: readonly string[],
  ): Promise<FetchedJob<Data>[]> {
    const jobs = await this.#boss.fetch<Data>(queue, {
      batchSize: count,
      db: asDb(withLimit(session, count)),
      ...(except.length > 0 && { ignoreGroups: [...except] }),
      ...(isLimited(queue) && { groupConcurrency: LIMITS }),
    });
    return jobs.map(({ id, data, groupId, heartbeatSeconds }) => ({
      id,
      data,
      group: groupId ?? undefined,
      heartbeatMs: (heartbeatSeconds ?? 0) * 1000,
    }));
  }

  /** Returns the ids of those that are still active. */
  async touch(queue: string, ids: readonly string[], session: Session): Promise<readonly string[]> {
    return settledOf(await this.#boss.touch(queue, ids.map(firstAttempt), { db: asDb(session) }));
  }

  /**
   * Removes active jobs, and returns the ids of those that were. A completed job would only be kept for reading: it makes
   * the table long, which supervising reads every second.
   */
  async end(queue: string, ids: readonly string[], session: Session): Promise<readonly string[]> {
    return settledOf(await this.#boss.deleteJob(queue, ids.map(firstAttempt), { db: asDb(session) }));
  }

  /** Returns the ids of those that were waiting or active. */
  async cancel(queue: string, ids: readonly string[], session: Session): Promise<readonly string[]> {
    return settledOf(await this.#boss.cancel(queue, [...ids], { db: asDb(session) }));
  }

  async remove(queue: string, ids: readonly string[], session: Session): Promise<void> {
    await this.#boss.deleteJob(queue, [...ids], { db: asDb(session) });
  }

  /** Fails active jobs without a heartbeat or beyond their time, and deletes old ones. */
  async supervise(): Promise<void> {
    await this.#boss.supervise();
  }

  async close(): Promise<void> {
    await this.#boss.stop({ close: false, graceful: false });
  }
}

export interface EngineJob {
  readonly id: string;
  readonly data: object;
  readonly priority: number;
  readonly expireInSeconds: number;
  readonly heartbeatSeconds: number;
  readonly retentionSeconds: number;
  /** What limits slots, the key that must not make the attempt, or its script. */
  readonly group?: { readonly id: string; readonly tier?: string };
}

export interface FetchedJob<Data> {
  readonly id: string;
  readonly data: Data;
  readonly group: string | undefined;
  readonly heartbeatMs: number;
}

/** Without retries, a job is fetched once. Naming the attempt keeps a late call from ending a later one. */
function firstAttempt(id: string): { id: string; retryCount: number } {
  return { id, retryCount: 0 };
}

function settledOf(response: object): readonly string[] {
  return (response as { readonly settled?: readonly string[] }).settled ?? [];
}

/** Passes the number as a value, so that claims of every size are one statement. */
function withLimit(session: Session, count: number): Session {
  return {
    rows: (text, values = []) =>
      session.rows(text.replace(`LIMIT ${count}`, `LIMIT $${values.length + 1}`), [...values, count]),
  };
}

function asDb(session: Session): { executeSql(text: string, values?: unknown[]): Promise<{ rows: object[] }> } {
  return { executeSql: async (text, values) => ({ rows: await session.rows(text, values) }) };
}

const OTHER_ENGINE =
  'The tables of pg-boss have another version than this release needs. Run `proctor queue migrate` with the newest release.';

/** Finished jobs are kept only to recognize a late call. `begun` and `outcome` hold what counts. */
const DELETE_AFTER_S = 600;

const LIMITS = {
  default: Math.max(...SLOTS_MAX),
  tiers: Object.fromEntries(SLOTS_MAX.map(max => [String(max), max])),
};

const SETTINGS = {
  schema: ENGINE_SCHEMA,
  backend: 'postgres',
  migrate: false,
  createSchema: false,
  supervise: false,
  schedule: false,
  // Rebuilding an index is DDL, which only `proctor queue migrate` runs.
  reindex: false,
  monitorVacuum: false,
  superviseIntervalSeconds: 1,
  monitorIntervalSeconds: 1,
  maintenanceIntervalSeconds: 60,
} as const;
