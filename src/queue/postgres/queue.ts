import { monotonicMs } from '../../base/clock.ts';
import { random } from '../../base/ids.ts';
import { askUntil, Hint } from '../hint.ts';
import type {
  AttemptClaim,
  AttemptOutcome,
  AttemptRequest,
  Queue,
  QueueOverview,
  QueueWait,
  Settlement,
  WorkerOffer,
} from '../queue.ts';
import { claim } from './claim.ts';
import { Database } from './database.ts';
import { Engine } from './engine.ts';
import { queueFault } from './faults.ts';
import { forgetOldRuns } from './forget.ts';
import { assertVersion } from './migrate.ts';
import { type News, NewsReader } from './news.ts';
import { offer } from './offer.ts';
import { begunKeys, storedOutcomes, storeLost } from './outcomes.ts';
import { noteWorkers, overview, renewWorkers } from './overview.ts';
import { beat, settle } from './settle.ts';
import { withdraw } from './withdraw.ts';

export interface PostgresOptions {
  /** Without a beat for this long, a worker counts as dead. At least 10 seconds, the minimum of pg-boss. */
  readonly heartbeatMs?: number;
  /** No worker counts as dead until PostgreSQL has answered for this long. */
  readonly graceMs?: number;
  /** How long PostgreSQL may take to accept connections. */
  readonly openMs?: number;
}

/** Connects to the queue in a database. The tables must have the version of this release, or the next. */
export async function openPostgresQueue(url: string, options: PostgresOptions = {}): Promise<Queue> {
  const database = await Database.open(url, options.openMs);
  try {
    await assertVersion(database);
    const queue = new PostgresQueue(database, await Engine.open(database), options);
    await queue.start();
    return queue;
  } catch (cause) {
    await database.close();
    throw queueFault(cause);
  }
}

/** The queue in PostgreSQL. Only the database's clock counts. */
class PostgresQueue implements Queue {
  readonly #database: Database;
  readonly #engine: Engine;
  readonly #heartbeatMs: number;
  readonly #graceMs: number;
  readonly #news: NewsReader;
  readonly #offered = new Hint();
  readonly #settled = new Hint();
  readonly #listeners = new Set<(runId: string) => void>();
  /** When each worker was last recorded. */
  readonly #notedAtMs = new Map<string, number>();
  /** Workers to record again. */
  readonly #again = new Map<string, WorkerOffer>();
  #noting: NodeJS.Timeout | undefined;
  #waking: NodeJS.Timeout | undefined;
  #forgotAtMs = Number.NEGATIVE_INFINITY;
  #lostAtMs = Number.NEGATIVE_INFINITY;

  constructor(database: Database, engine: Engine, { heartbeatMs = HEARTBEAT_MS, graceMs }: PostgresOptions) {
    this.#database = database;
    this.#engine = engine;
    this.#heartbeatMs = Math.max(heartbeatMs, HEARTBEAT_MS_MIN);
    this.#graceMs = graceMs ?? this.#heartbeatMs;
    this.#news = new NewsReader(database, news => this.#hear(news));
  }

  async start(): Promise<void> {
    await this.#news.start();
  }

  async offer(requests: readonly AttemptRequest[]): Promise<void> {
    await offer(this.#database, this.#engine, requests, this.#heartbeatMs);
  }

  async claim(worker: WorkerOffer, free: number, wait: QueueWait): Promise<readonly AttemptClaim[]> {
    await this.#note(worker);
    const ask = () => claim(this.#database, this.#engine, worker, free);
    return askUntil(ask, claims => claims.length === 0, this.#offered, wait, pollMs(), monotonicMs);
  }

  async beat(claims: readonly AttemptClaim[]): Promise<readonly AttemptClaim[]> {
    await renewWorkers(this.#database, [...new Set(claims.map(({ worker }) => worker))]);
    return beat(this.#database, this.#engine, claims);
  }

  forget(): void {}

  async settle(settlements: readonly Settlement[]): Promise<readonly string[]> {
    return settle(this.#database, this.#engine, settlements);
  }

  async outcomes(keys: readonly string[], wait: QueueWait): Promise<ReadonlyMap<string, AttemptOutcome>> {
    const ask = async () => {
      const known = await storedOutcomes(this.#database, keys);
      if (monotonicMs() - this.#lostAtMs < LOST_MS) return known;
      this.#lostAtMs = monotonicMs();
      const open = keys.filter(key => !known.has(key));
      return (await storeLost(this.#database, open)) === 0 ? known : storedOutcomes(this.#database, keys);
    };
    return askUntil(ask, known => known.size === 0, this.#settled, wait, pollMs(), monotonicMs);
  }

  async begun(keys: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return begunKeys(this.#database, keys);
  }

  async withdraw(runId: string): Promise<void> {
    await withdraw(this.#database, this.#engine, runId);
  }

  onWithdrawn(listener: (runId: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** After an outage, every worker gets the time to beat again before any of them counts as dead. */
  async supervise(): Promise<void> {
    const [row] = await this.#database.rows<{ up_ms: number }>(
      'select (extract(epoch from now() - pg_postmaster_start_time()) * 1000)::float8 as up_ms',
    );
    if (Math.min(this.#database.contactMs(), row?.up_ms ?? 0) < this.#graceMs) return;
    await this.#engine.supervise();
    if (monotonicMs() - this.#forgotAtMs < FORGET_MS) return;
    this.#forgotAtMs = monotonicMs();
    await forgetOldRuns(this.#database);
  }

  async markSealed(runId: string): Promise<void> {
    await this.#database.rows(
      `insert into proctor.run (run_id, sealed_at) values ($1, now())
       on conflict (run_id) do update set sealed_at = coalesce(run.sealed_at, now())`,
      [runId],
    );
  }

  async overview(): Promise<QueueOverview> {
    return overview(this.#database);
  }

  async close(): Promise<void> {
    clearTimeout(this.#noting);
    clearTimeout(this.#waking);
    await this.#news.close();
    await this.#engine.close();
    await this.#database.close();
    this.#offered.wake();
    this.#settled.wake();
  }

  /** Records a new worker at once, and one that is still there together with others. A claim waits only for the former. */
  async #note(offer: WorkerOffer): Promise<void> {
    const nowMs = monotonicMs();
    const notedAtMs = this.#notedAtMs.get(offer.worker);
    if (notedAtMs !== undefined && nowMs - notedAtMs < NOTE_MS) return;
    if (notedAtMs === undefined) await noteWorkers(this.#database, [offer]);
    else {
      this.#again.set(offer.worker, offer);
      this.#noting ??= setTimeout(() => void this.#noteAgain(), NOTE_AGAIN_MS);
    }
    for (const [worker, atMs] of this.#notedAtMs) if (nowMs - atMs >= SEEN_MS) this.#notedAtMs.delete(worker);
    this.#notedAtMs.set(offer.worker, nowMs);
  }

  async #noteAgain(): Promise<void> {
    const offers = [...this.#again.values()];
    this.#again.clear();
    this.#noting = undefined;
    try {
      await noteWorkers(this.#database, offers);
    } catch {
      // Then the next claim of each records it.
      for (const { worker } of offers) this.#notedAtMs.delete(worker);
    }
  }

  #hear(news: News): void {
    if (news.is === 'offered' || (news.is === 'settled' && news.freed)) this.#offered.wake();
    if (news.is === 'settled' || news.is === 'withdrawn') this.#wakeSettled();
    if (news.is === 'withdrawn') for (const listener of this.#listeners) listener(news.run_id);
  }

  /** A conductor asks about all its attempts, so it waits a moment for the settlements of other workers. */
  #wakeSettled(): void {
    this.#waking ??= setTimeout(() => {
      this.#waking = undefined;
      this.#settled.wake();
    }, GATHER_MS);
  }
}

/** The time between two polls without a hint. It varies, so that workers do not poll all at once. */
function pollMs(): number {
  return POLL_MS * (0.8 + 0.4 * random());
}

const HEARTBEAT_MS = 30_000;
const HEARTBEAT_MS_MIN = 10_000;
const POLL_MS = 1000;
const GATHER_MS = 10;
/** Shorter than any poll, so that each poll finds lost attempts. */
const LOST_MS = 500;
const NOTE_MS = 10_000;
const NOTE_AGAIN_MS = 1000;
/** A worker that was silent for this long counts as new. */
const SEEN_MS = 60_000;
const FORGET_MS = 60_000;
