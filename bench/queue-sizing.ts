/**
 * The last part of `npm run bench:queue`: what an attempt costs each process of a team, for the section Sizing of
 * docs/scale.md. CPU per attempt depends less on the load of the machine than rates do.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { migrateQueueTables } from '../src/verbs/queue.ts';
import { TestPostgres } from '../tests/support/postgres.ts';
import { printRows, type Row } from './rows.ts';
import { cpuMsOf, endedCpuMs, FILES_IN, newToken, rssMbOf, startServer, treeCpuMs } from './served.ts';

const PROCTOR = path.join(process.cwd(), 'dist', 'proctor.js');
const WORKERS = 2;

interface Load {
  readonly run: string;
  readonly cases: number;
  readonly window: number;
  readonly delayMs: number;
  /** The length of an answer. */
  readonly chars: number;
}

const BUSY: Load = { run: 'busy', cases: 3_000, window: 256, delayMs: 1, chars: 200 };
const SPARSE: Load = { run: 'sparse', cases: 300, window: 16, delayMs: 1_000, chars: 200 };
const LARGE: Load = { run: 'large', cases: 60, window: 16, delayMs: 1, chars: 100_000 };

/** What one attempt of a load cost. */
interface Costs {
  readonly conductorMs: number;
  readonly serverMs: number;
  readonly workersMs: number;
  readonly databaseMs: number;
  readonly walBytes: number;
  readonly databaseBytes: number;
  readonly sessions: number;
}

class Team {
  readonly folder = mkdtempSync(path.join(FILES_IN, 'proctor-bench-'));
  readonly children: ChildProcess[] = [];
  readonly #postgres: TestPostgres;
  readonly #url: string;
  readonly #agent: Server;
  #load: Load = BUSY;
  #server: { readonly pid: number; readonly url: string } | undefined;
  #workers: ChildProcess[] = [];

  private constructor(postgres: TestPostgres, url: string) {
    this.#postgres = postgres;
    this.#url = url;
    this.#agent = createServer((request, response) => {
      let text = '';
      request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      request.on('end', () => setTimeout(() => response.end(this.#answer(text)), this.#load.delayMs));
    });
  }

  static async start(): Promise<Team> {
    const postgres = await TestPostgres.start();
    const url = await postgres.database();
    await migrateQueueTables(url);
    const team = new Team(postgres, url);
    await new Promise<void>(resolve => team.#agent.listen(0, '127.0.0.1', resolve));
    team.#server = await startServer(team.folder, team.children, url, path.join(team.folder, 'blobs'));
    const token = newToken(team.folder, 'worker', 'workers');
    team.#workers = Array.from({ length: WORKERS }, () =>
      team.proctor(['worker', '--on', team.#server?.url ?? '', '--slots', '32'], { PROCTOR_TOKEN: token }),
    );
    await team.measure({ ...BUSY, run: 'warm', cases: 200 });
    return team;
  }

  proctor(words: readonly string[], more: NodeJS.ProcessEnv = {}): ChildProcess {
    const env = { ...process.env, PROCTOR_QUEUE: this.#url, ...more };
    const child = spawn(process.execPath, [PROCTOR, ...words], { cwd: this.folder, env, stdio: 'ignore' });
    this.children.push(child);
    return child;
  }

  /** Sessions of Proctor in PostgreSQL. */
  async sessions(): Promise<number> {
    return this.#number(`select count(*)::int from pg_stat_activity where application_name = 'proctor'`);
  }

  async measure(load: Load): Promise<Costs> {
    this.#load = load;
    const { run, cases, window } = load;
    const lines = Array.from({ length: cases }, (_, index) =>
      JSON.stringify({ id: `c${index}`, input: { user: 'x' } }),
    );
    writeFileSync(path.join(this.folder, `${run}.jsonl`), `${lines.join('\n')}\n`);
    const before = await this.#used();
    const endedMs = endedCpuMs();
    const { port } = this.#agent.address() as AddressInfo;
    const words = ['run', 'suite', `${run}.jsonl`, '--base-url', `http://127.0.0.1:${port}`, '--as', 'new'];
    const flags = ['--run-id', run, '--queue', '--store', 'blobs', '--concurrency', String(window)];
    const conductor = this.proctor([...words, ...flags]);
    let sessions = 0;
    while (conductor.exitCode === null) {
      sessions = Math.max(sessions, await this.sessions());
      await wait(200);
    }
    if (conductor.exitCode !== 0) throw new Error(`The suite ended with exit code ${conductor.exitCode}.`);
    const after = await this.#used();
    const per = (key: keyof typeof after): number => (after[key] - before[key]) / cases;
    return {
      conductorMs: (endedCpuMs() - endedMs) / cases,
      serverMs: per('serverMs'),
      workersMs: per('workersMs'),
      databaseMs: per('databaseMs'),
      walBytes: per('walBytes'),
      databaseBytes: per('databaseBytes'),
      sessions,
    };
  }

  memoryMb(): { readonly server: number; readonly worker: number } {
    return { server: rssMbOf(this.#server?.pid ?? 0), worker: rssMbOf(this.#workers[0]?.pid ?? 0) };
  }

  /** The number and the bytes of the blobs in the store. */
  blobs(): readonly number[] {
    return readdirSync(path.join(this.folder, 'blobs'), { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => statSync(path.join(entry.parentPath, entry.name)).size);
  }

  async stop(): Promise<void> {
    for (const child of this.children) child.kill('SIGKILL');
    this.#agent.closeAllConnections();
    this.#agent.close();
    await this.#postgres.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #used() {
    return {
      serverMs: cpuMsOf(this.#server?.pid ?? 0),
      workersMs: this.#workers.reduce((sum, { pid = 0 }) => sum + cpuMsOf(pid), 0),
      databaseMs: treeCpuMs(this.#postgres.pid),
      walBytes: await this.#number(`select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8`),
      databaseBytes: await this.#number('select pg_database_size(current_database())::float8'),
    };
  }

  async #number(text: string): Promise<number> {
    const [row] = await this.#postgres.sql<Record<string, number>>(text, this.#url);
    return Number(Object.values(row ?? {})[0]);
  }

  #answer(text: string): string {
    const { case_id, version } = JSON.parse(text) as { case_id: string; version: string };
    const final_output = { content_type: 'text', content: 'x'.repeat(this.#load.chars) };
    return JSON.stringify({ case_id, version, proposed_actions: [], events: [], final_output });
  }
}

/** One row per process, so that the file of results reads as a table. */
function rowsOf(what: string, { conductorMs, serverMs, workersMs, databaseMs, walBytes }: Costs): Row[] {
  const shown = { conductor: conductorMs, server: serverMs, workers: workersMs, PostgreSQL: databaseMs };
  const all = Object.values(shown).reduce((sum, ms) => sum + ms, 0);
  return [
    ...Object.entries(shown).map(([who, ms]) => ({
      what: `${what}: CPU of ${who} per attempt, ms`,
      ratio: ms,
      bound: '',
      holds: true,
      detail: `${Math.round((100 * ms) / all)} % of all`,
    })),
    { what: `${what}: WAL per attempt, bytes`, ratio: walBytes, bound: '', holds: true, detail: '' },
  ];
}

async function main(): Promise<void> {
  const team = await Team.start();
  try {
    const idle = await team.sessions();
    const [busy, sparse] = [await team.measure(BUSY), await team.measure(SPARSE)];
    await team.measure(LARGE);
    const blobs = team.blobs();
    const memory = team.memoryMb();
    printRows('queue-sizing', [...rowsOf('busy', busy), ...rowsOf('sparse', sparse)], {
      busy: BUSY,
      sparse: SPARSE,
      sessions: { server_alone: idle, with_a_conductor: busy.sessions },
      database_bytes_per_attempt: Math.round(busy.databaseBytes),
      large_replies: LARGE.cases,
      blobs: blobs.length,
      bytes_per_blob: Math.round(blobs.reduce((sum, bytes) => sum + bytes, 0) / blobs.length),
      memory_mb: { server: Math.round(memory.server), worker: Math.round(memory.worker) },
    });
  } finally {
    await team.stop();
  }
}

await main();
