import pg from 'pg';
import { monotonicMs } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { bytesHash } from '../../base/hash.ts';
import { isUnavailable, queueFault } from './faults.ts';

type Row = Record<string, unknown>;

/** Ends a transaction without an error: errors count as errors of PostgreSQL. */
export const ROLL_BACK = Symbol('roll back');

/** Runs statements, alone or inside a transaction. */
export interface Session {
  rows<Found extends Row>(text: string, values?: readonly unknown[]): Promise<Found[]>;
}

/** A small pool of connections. Every statement has a time limit, and every error becomes a fault. */
export class Database implements Session {
  readonly #pool: pg.Pool;
  readonly #prepared = new Prepared();
  readonly #settings: pg.ClientConfig;
  #contactSinceMs: number | undefined;

  private constructor(settings: pg.ClientConfig) {
    this.#settings = settings;
    this.#pool = new pg.Pool({ ...settings, max: CONNECTIONS_MAX, idleTimeoutMillis: IDLE_MS });
    // An idle connection broke. The pool replaces it; without a listener, Node would end the process.
    this.#pool.on('error', () => this.#loseContact());
  }

  /** Connects. PostgreSQL may be starting, so this is tried for `openMs` before it is a fault. */
  static async open(url: string, openMs = OPEN_MS): Promise<Database> {
    const database = new Database(settingsOf(url));
    const endMs = monotonicMs() + openMs;
    for (;;) {
      try {
        await database.rows('select 1');
        return database;
      } catch (fault) {
        if (isUnavailable(fault) && monotonicMs() < endMs) {
          await new Promise(resolve => setTimeout(resolve, OPEN_AGAIN_MS));
          continue;
        }
        await database.close();
        throw fault;
      }
    }
  }

  async rows<Found extends Row>(text: string, values?: readonly unknown[]): Promise<Found[]> {
    return this.#with(async client => this.#rowsOf<Found>(client, text, values));
  }

  /** `first` runs in the same round trip as BEGIN. Nothing changes if `act` returns ROLL_BACK. */
  async transaction<Value>(act: (session: Session) => Promise<Value>, first = ''): Promise<Value> {
    return this.#with(async client => {
      await client.query(`begin; ${first}`);
      const value = await act({ rows: async (text, values) => this.#rowsOf(client, text, values) });
      await client.query(value === ROLL_BACK ? 'rollback' : 'commit');
      return value;
    });
  }

  /** How long PostgreSQL has answered without interruption. */
  contactMs(): number {
    return this.#contactSinceMs === undefined ? 0 : monotonicMs() - this.#contactSinceMs;
  }

  /** A connection of its own, for LISTEN. */
  client(): pg.Client {
    return new pg.Client(this.#settings);
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #with<Value>(act: (client: pg.PoolClient) => Promise<Value>): Promise<Value> {
    let client: pg.PoolClient | undefined;
    // A connection can break while it waits between two statements, and reports that as an event.
    const onError = (): void => this.#loseContact();
    try {
      client = await this.#pool.connect();
      client.on('error', onError);
      if (this.#prepared.areOld(client)) await client.query('discard plans');
      const value = await act(client);
      client.off('error', onError);
      client.release();
      this.#contactSinceMs ??= monotonicMs();
      return value;
    } catch (cause) {
      // The connection may be inside a failed transaction, so it is not used again.
      client?.off('error', onError);
      client?.release(true);
      const fault = queueFault(cause);
      if (isUnavailable(fault)) this.#loseContact();
      throw fault;
    }
  }

  /** A text of several statements gives several results. It has no values. */
  async #rowsOf<Found extends Row>(
    client: pg.PoolClient,
    text: string,
    values: readonly unknown[] = [],
  ): Promise<Found[]> {
    const result: unknown =
      values.length === 0
        ? await client.query(text)
        : await client.query({ ...this.#prepared.nameOf(text), text, values: [...values] });
    const results = (Array.isArray(result) ? result : [result]) as { readonly rows?: Found[] }[];
    return results.flatMap(({ rows }) => rows ?? []);
  }

  #loseContact(): void {
    this.#contactSinceMs = undefined;
  }
}

/**
 * Which statements a connection prepares: those that it repeats. PostgreSQL then parses and plans them once, which otherwise
 * takes it as long as running them. A plan for an empty table is bad for a full one, so plans have an age limit.
 */
class Prepared {
  readonly #known = new Map<string, { readonly name: string; uses: number }>();
  readonly #plannedAtMs = new WeakMap<pg.PoolClient, number>();

  nameOf(text: string): { readonly name?: string } {
    const known = this.#known.get(text) ?? { name: bytesHash(text).slice(-32), uses: 0 };
    known.uses += 1;
    if (known.uses === 1 && this.#known.size < PREPARED_MAX) this.#known.set(text, known);
    return known.uses > USES_MIN ? { name: known.name } : {};
  }

  /** Whether to plan again. The next answer is no. */
  areOld(client: pg.PoolClient): boolean {
    const nowMs = monotonicMs();
    const plannedAtMs = this.#plannedAtMs.get(client) ?? nowMs;
    const areOld = nowMs - plannedAtMs >= PLAN_MS;
    this.#plannedAtMs.set(client, areOld ? nowMs : plannedAtMs);
    return areOld;
  }
}

function settingsOf(url: string): pg.ClientConfig {
  // Never pass the URL on as a cause, because it contains the password.
  if (!/^postgres(?:ql)?:\/\//.test(url) || !URL.canParse(url)) {
    throw new Fault('queue_address', 'The address of a queue has the form postgres://user@host:port/database.');
  }
  const address = new URL(url);
  // pg would verify certificates in the same cases, but prints a warning about its next version.
  const isOpen = ['disable', null].includes(address.searchParams.get('sslmode'));
  address.searchParams.delete('sslmode');
  return {
    connectionString: address.href,
    ...(!isOpen && { ssl: { rejectUnauthorized: true } }),
    application_name: 'proctor',
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: STATEMENT_MS,
    lock_timeout: LOCK_MS,
    idle_in_transaction_session_timeout: STATEMENT_MS,
    query_timeout: STATEMENT_MS + 2000,
    options: PLANNER,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  };
}

/**
 * Every frequent statement of the queue finds a few rows by index. The planner does not know that: the tables grow faster
 * than their statistics. Without JIT, because a table that is read anyway counts as expensive.
 */
const PLANNER = [
  'random_page_cost=1.1',
  'enable_seqscan=off',
  'enable_sort=off',
  'jit=off',
  'plan_cache_mode=force_generic_plan',
]
  .map(setting => `-c ${setting}`)
  .join(' ');

/** A statement that is used only now and then is not worth its memory. */
const USES_MIN = 4;
/** Statements that a connection keeps. The others still work. */
const PREPARED_MAX = 100;
const PLAN_MS = 5000;

/** Enough to claim, beat, settle and do one more thing at once. The listening connection is the fifth of a process. */
const CONNECTIONS_MAX = 4;
const IDLE_MS = 30_000;
const CONNECT_MS = 5000;
const STATEMENT_MS = 10_000;
const LOCK_MS = 5000;
const OPEN_MS = 30_000;
const OPEN_AGAIN_MS = 250;
