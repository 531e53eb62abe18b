/** What `npm run bench:queue` compares the queue with: a hand-written table, and pg-boss without our lock. */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { PgBoss } from 'pg-boss';

/**
 * A table with SKIP LOCKED: the least that a queue in PostgreSQL can do. Attempts are settled each by itself, as they end,
 * or all of a claim in one statement. Returns attempts per second.
 */
export async function bareRate(
  url: string,
  { attempts, free, report, settled }: { attempts: number; free: number; report: string; settled: 'alone' | 'grouped' },
): Promise<number> {
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  try {
    await pool.query('drop table if exists bare');
    await pool.query(`create table bare (id bigint generated always as identity primary key, key text unique not null,
      state text not null default 'waiting', ask text, report text)`);
    await pool.query(`create index on bare (id) where state = 'waiting'`);
    const startedMs = performance.now();
    await pool.query(`insert into bare (key, ask) select 'bench/c' || n || '/1', '{}' from generate_series(1, $1) n`, [
      attempts,
    ]);
    for (let left = attempts; left > 0; ) {
      const { rows } = await pool.query<{ id: string }>(
        `update bare set state = 'active' where id in (
           select id from bare where state = 'waiting' order by id limit $1 for update skip locked) returning id`,
        [free],
      );
      const ids = rows.map(({ id }) => id);
      const groups = settled === 'grouped' ? [ids] : ids.map(id => [id]);
      const done = `update bare set state = 'done', report = $2 where id = any($1::bigint[])`;
      await Promise.all(groups.map(group => pool.query(done, [group, report])));
      left -= ids.length;
    }
    return (attempts * 1000) / (performance.now() - startedMs);
  } finally {
    await pool.end();
  }
}

/**
 * pg-boss alone, and a row for each report: the least that a queue with this engine can do. Each of its `workers` takes
 * `free` jobs at once, and settles them in one transaction. Returns attempts per second.
 */
export async function engineRate(url: string, { attempts, workers, free, ask, report }: EngineLoad): Promise<number> {
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  const boss = await bareEngine(url);
  try {
    await pool.query('drop table if exists bare_report');
    await pool.query('create table bare_report (id uuid primary key, report text)');
    await boss.createQueue('rate');
    const startedMs = performance.now();
    for (let at = 0; at < attempts; at += INSERTED) {
      const jobs = Array.from({ length: Math.min(INSERTED, attempts - at) }, (_, index) => ({
        data: { key: `bench/c${at + index}/1`, ask },
      }));
      await boss.insert('rate', jobs);
    }
    const work = async (): Promise<void> => {
      for (;;) {
        const jobs = await boss.fetch('rate', { batchSize: free });
        if (jobs.length === 0) return;
        const client = await pool.connect();
        await client.query('begin');
        const db = { executeSql: async (text: string, values?: unknown[]) => client.query(text, values) };
        const ids = jobs.map(({ id }) => id);
        await boss.complete('rate', ids, undefined, { db });
        await client.query('insert into bare_report select unnest($1::uuid[]), $2', [ids, report]);
        await client.query('commit');
        client.release();
      }
    };
    await Promise.all(Array.from({ length: workers }, work));
    return (attempts * 1000) / (performance.now() - startedMs);
  } finally {
    await boss.stop({ graceful: false });
    await pool.end();
  }
}

export interface EngineLoad {
  readonly attempts: number;
  readonly workers: number;
  readonly free: number;
  readonly ask: string;
  readonly report: string;
}

const INSERTED = 1_000;

/** pg-boss with tables of its own. */
async function bareEngine(url: string): Promise<PgBoss> {
  const boss = new PgBoss({ connectionString: url, schema: 'bare_boss', supervise: false, schedule: false, max: 4 });
  boss.on('error', () => undefined);
  return boss.start();
}

/** The worst number of active jobs per group, if workers rely on pg-boss alone. */
export async function enginePeaks(url: string, limits: readonly number[], each: number, workers: number) {
  const first = await bareEngine(url);
  await first.createQueue('limits');
  const jobs = limits.flatMap(max =>
    Array.from({ length: max * each }, () => ({ data: { max }, group: { id: `t${max}`, tier: String(max) } })),
  );
  await first.insert('limits', jobs);
  const tiers = Object.fromEntries(limits.map(max => [String(max), max]));
  const peaks = new Peaks();
  let left = jobs.length;
  const work = async () => {
    const boss = await bareEngine(url);
    while (left > 0) {
      const taken = await boss.fetch<{ max: number }>('limits', {
        batchSize: 16,
        groupConcurrency: { default: 64, tiers },
      });
      await Promise.all(taken.map(({ data }) => peaks.during(`t${data.max}`)));
      left -= taken.length;
      if (taken.length > 0) await boss.complete('limits', taken);
      else await sleep(5);
    }
    await boss.stop({ graceful: false });
  };
  await Promise.all(Array.from({ length: workers }, work));
  await first.stop({ graceful: false });
  return peaks.worst;
}

/** Counts what a target sees: how many attempts reach it at the same time. */
export class Peaks {
  readonly worst: Record<string, number> = {};
  readonly #busy = new Map<string, number>();

  async during(target: string): Promise<void> {
    const busy = (this.#busy.get(target) ?? 0) + 1;
    this.#busy.set(target, busy);
    this.worst[target] = Math.max(this.worst[target] ?? 0, busy);
    await sleep(5);
    this.#busy.set(target, (this.#busy.get(target) ?? 0) - 1);
  }
}
