/**
 * The third part of `npm run bench:queue`: what a thousand workers that wait cost the server and PostgreSQL. The workers are
 * in a process of their own.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { OriginClient } from '../src/base/origin-client.ts';
import type { WorkerOffer } from '../src/queue/queue.ts';
import { RemoteQueue } from '../src/queue/remote.ts';
import { migrateQueueTables } from '../src/verbs/queue.ts';
import { TestPostgres } from '../tests/support/postgres.ts';
import { median } from './median.ts';
import { printRows, type Row, rowAtMost } from './rows.ts';
import { cpuMsOf, FILES_IN, newToken, rssMbOf, startServer, treeCpuMs } from './served.ts';

const WORKERS = 1_000;
const POLL_MS = 25_000;
const IDLE_S = 10;
/** Two polls of every worker. */
const WATCHED_S = 50;

async function main(): Promise<void> {
  const folder = mkdtempSync(path.join(FILES_IN, 'proctor-bench-'));
  const children: ChildProcess[] = [];
  const postgres = await TestPostgres.start();
  try {
    const url = await postgres.database();
    await migrateQueueTables(url);
    const server = await startServer(folder, children, url);
    const workers = () => start(['workers', server.url, newToken(folder, 'worker', 'workers')], children);
    const asked = async (): Promise<number> =>
      (await postgres.sql<{ n: number }>('select count(*)::int as n from proctor.worker', url))[0]?.n ?? 0;
    // The first requests load code, which is no cost of waiting.
    const first = workers();
    while ((await asked()) < 20) await wait(50);
    first.kill();
    await wait(5_000);
    const idleMb = median(await memoryOver(server.pid, IDLE_S));
    workers();
    await postgres.sql('delete from proctor.worker', url);
    while ((await asked()) < WORKERS) await wait(200);
    const from = [cpuMsOf(server.pid), treeCpuMs(postgres.pid), performance.now()] as const;
    const memory = await memoryOver(server.pid, WATCHED_S);
    const seconds = (performance.now() - from[2]) / 1_000;
    const sessions = await postgres.sql<{ n: number }>(
      `select count(*)::int as n from pg_stat_activity where application_name = 'proctor'`,
      url,
    );
    const perS = (now: number, before: number): number => (now - before) / seconds;
    const serverMs = perS(cpuMsOf(server.pid), from[0]);
    const databaseMs = perS(treeCpuMs(postgres.pid), from[1]);
    printRows('queue-waiting', rowsOf({ idleMb, memory, serverMs, databaseMs, sessions: sessions[0]?.n ?? 0 }));
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Watched {
  readonly idleMb: number;
  readonly memory: readonly number[];
  /** CPU per second. */
  readonly serverMs: number;
  readonly databaseMs: number;
  readonly sessions: number;
}

function rowsOf({ idleMb, memory, serverMs, databaseMs, sessions }: Watched): Row[] {
  const more = median(memory) - idleMb;
  const most = Math.max(...memory).toFixed(0);
  return [
    rowAtMost(
      `${WORKERS} waiting workers: median RSS over the idle server, MB`,
      more,
      30,
      `${idleMb.toFixed(0)} MB idle, at most ${most}`,
    ),
    rowAtMost(
      `${WORKERS} waiting workers: CPU of the server per second, ms`,
      serverMs,
      100,
      `each worker asks every ${POLL_MS / 1_000} s`,
    ),
    rowAtMost(`${WORKERS} waiting workers: CPU of PostgreSQL per second, ms`, databaseMs, 100, `${sessions} sessions`),
  ];
}

function start(words: readonly string[], children: ChildProcess[]): ChildProcess {
  const child = spawn(process.execPath, [import.meta.filename, ...words], { stdio: ['ignore', 'ignore', 'inherit'] });
  children.push(child);
  return child;
}

/** The memory of a process in MB, each second. */
async function memoryOver(pid: number, seconds: number): Promise<number[]> {
  const memory: number[] = [];
  for (let second = 0; second < seconds; second++) {
    memory.push(rssMbOf(pid));
    await wait(1_000);
  }
  return memory;
}

/** Plays all workers. Each asks again at once. */
async function playWorkers(url: string, token: string): Promise<void> {
  const queue = new RemoteQueue(new OriginClient(url, token));
  const offer: Omit<WorkerOffer, 'worker'> = { protocols: [1], needs: ['http'], slots: 4, version: 'bench' };
  const play = async (worker: string): Promise<never> => {
    for (;;) await queue.claim({ ...offer, worker }, 4, { waitMs: POLL_MS }).catch(() => wait(500));
  };
  await Promise.all(Array.from({ length: WORKERS }, (_, index) => play(`w${index}`)));
}

const [role, ...words] = process.argv.slice(2);
if (role === undefined) await main();
else await playWorkers(words[0] ?? '', words[1] ?? '');
