/**
 * `node scripts/run.mjs bench/team.ts MINUTES`, after `npm run build`: a server before PostgreSQL, with 1,000 workers, 200
 * viewers, and a suite of 116 attempts per second: 10 million a day. It prints what the server takes while it runs. All
 * parts are processes, the workers a thousand in four.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { migrateQueueTables } from '../src/verbs/queue.ts';
import { runQueueWorker } from '../src/verbs/worker.ts';
import { TestPostgres } from '../tests/support/postgres.ts';
import { median } from './median.ts';
import { printRows, type Row, rowAtMost } from './rows.ts';
import { cpuMsOf, firstLine, rssMbOf, type Started, startServer, treeCpuMs } from './served.ts';

const WORKERS = 1_000;
const WORKER_PROCESSES = 4;
const VIEWERS = 200;
const VIEWER_PROCESSES = 2;
const PER_S = 116;
const LATENCY_MS = 1_000;
/** A little more than the rate, because an attempt takes a little longer than its answer. */
const WINDOW = 128;
const SAMPLE_MS = 5_000;
const MINUTES = 10;

async function main(minutes: number): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'proctor-bench-'));
  const children: ChildProcess[] = [];
  const postgres = await TestPostgres.start();
  try {
    const url = await postgres.database();
    await migrateQueueTables(url);
    const server = await startServer(folder, children, url);
    const agent = play(['agent'], children);
    const agentUrl = await firstLine(agent);
    const token = newToken(folder);
    const own = String(WORKERS / WORKER_PROCESSES);
    for (let index = 0; index < WORKER_PROCESSES; index++)
      play(['workers', server.url, token, own, String(index), path.join(folder, `w${index}`)], children);
    const known = async (): Promise<number> => one(postgres, url, 'select count(*) as n from proctor.worker');
    while ((await known()) < WORKERS) await wait(200);
    const conductor = conduct(folder, url, agentUrl, Math.round(PER_S * 60 * minutes));
    children.push(conductor.child);
    while (!existsSync(path.join(folder, '.proctor', 'runs', 'new', 'team', 'journal.ndjson'))) await wait(20);
    const viewers = Array.from({ length: VIEWER_PROCESSES }, () =>
      play(
        ['viewers', server.url, server.headers['authorization'] ?? '', String(VIEWERS / VIEWER_PROCESSES)],
        children,
      ),
    );
    const views = Promise.all(viewers.map(firstLine));
    const startedMs = performance.now();
    const watched = await watch({ server, postgres, url, conductor, startedMs, endMs: startedMs + minutes * 60_000 });
    for (const one of viewers) one.kill('SIGTERM');
    conductor.child.kill('SIGINT');
    const code = await conductor.ended;
    const seen = JSON.parse(await answerOf(agentUrl)) as Seen;
    const counts = (await views).flatMap(text => JSON.parse(text) as View[]);
    const lost = await one(postgres, url, `select count(*) as n from proctor.outcome where state = 'lost'`);
    printRows('team', rowsOf({ ...watched, seen, counts, lost, code }), { minutes, ...watched });
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Watching {
  readonly server: Started;
  readonly postgres: TestPostgres;
  readonly url: string;
  readonly conductor: { readonly child: ChildProcess };
  readonly startedMs: number;
  readonly endMs: number;
}

interface Watched {
  readonly samples: readonly Sample[];
  /** From offer to begin, per minute, by the clock of PostgreSQL. */
  readonly claims: readonly ReturnType<ClaimTimes['take']>[];
  readonly perS: number;
  readonly serverCpu: number;
  readonly databaseCpu: number;
  readonly conductorCpu: number;
}

interface Sample {
  readonly second: number;
  readonly serverMb: number;
  readonly sessions: number;
  readonly begun: number;
  readonly load: number;
}

/** Samples until the time is over, or the conductor ends. CPU is in cores. */
async function watch({ server, postgres, url, conductor, startedMs, endMs }: Watching): Promise<Watched> {
  const { child } = conductor;
  const cpuOf = (): [number, number, number] => [cpuMsOf(server.pid), treeCpuMs(postgres.pid), cpuMsOf(child.pid ?? 0)];
  const from = cpuOf();
  let [now, nowMs] = [from, startedMs];
  const samples: Sample[] = [];
  const claims: ReturnType<ClaimTimes['take']>[] = [];
  const times = new ClaimTimes(url);
  while (child.exitCode === null && performance.now() < endMs) {
    await wait(SAMPLE_MS);
    if (child.exitCode !== null) break;
    try {
      now = cpuOf();
      nowMs = performance.now();
    } catch {
      // It has just ended.
      break;
    }
    const begun = await one(postgres, url, 'select count(*) as n from proctor.begun');
    const sessions = await one(
      postgres,
      url,
      `select count(*) as n from pg_stat_activity where backend_type = 'client backend'`,
    );
    const second = Math.round((nowMs - startedMs) / 1_000);
    const load = Number(loadavg()[0]?.toFixed(1));
    samples.push({ second, serverMb: Math.round(rssMbOf(server.pid)), sessions, begun, load });
    if (samples.length % (60_000 / SAMPLE_MS) !== 0) continue;
    claims.push(times.take());
    console.error(JSON.stringify({ ...samples.at(-1), ...claims.at(-1) }));
  }
  await times.stop();
  const cores = now.map((ms, index) => (ms - (from[index] ?? 0)) / (nowMs - startedMs));
  const [serverCpu = 0, databaseCpu = 0, conductorCpu = 0] = cores;
  const { begun = 0, second = 1 } = samples.at(-1) ?? {};
  return { samples, claims, perS: begun / second, serverCpu, databaseCpu, conductorCpu };
}

/**
 * How long attempts waited for a worker, by the clock of PostgreSQL. Their jobs are gone when they end, so it looks more often
 * than an attempt lasts.
 */
class ClaimTimes {
  readonly #client: pg.Client;
  readonly #seen = new Set<string>();
  readonly #looking: Promise<void>;
  #waitedMs: number[] = [];
  #isOver = false;

  constructor(url: string) {
    this.#client = new pg.Client({ connectionString: url });
    this.#looking = this.#look();
  }

  async #look(): Promise<void> {
    await this.#client.connect();
    while (!this.#isOver) {
      const { rows } = await this.#client.query<{ id: string; ms: number }>(
        `select id::text, (extract(epoch from started_on - created_on) * 1000)::float8 as ms
           from proctor_queue.job_common where state = 'active'`,
      );
      for (const { id, ms } of rows) {
        if (!this.#seen.has(id)) this.#waitedMs.push(ms);
        this.#seen.add(id);
      }
      await wait(LATENCY_MS / 3);
    }
    await this.#client.end();
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#looking;
  }

  /** Since the last call. */
  take(): { readonly p50Ms: number; readonly p99Ms: number; readonly attempts: number } {
    const sorted = this.#waitedMs.toSorted((a, b) => a - b);
    this.#waitedMs = [];
    const at = (share: number): number => Math.round(sorted[Math.floor(sorted.length * share)] ?? 0);
    return { p50Ms: at(0.5), p99Ms: at(0.99), attempts: sorted.length };
  }
}

interface Ended extends Watched {
  readonly seen: Seen;
  readonly counts: readonly View[];
  readonly lost: number;
  readonly code: number | null;
}

function rowsOf({
  samples,
  claims,
  perS,
  serverCpu,
  databaseCpu,
  conductorCpu,
  seen,
  counts,
  lost,
  code,
}: Ended): Row[] {
  const memory = samples.map(({ serverMb }) => serverMb);
  const quarter = Math.ceil(memory.length / 4);
  const growth = median(memory.slice(-quarter)) / median(memory.slice(quarter, 2 * quarter));
  const p99 = median(claims.map(({ p99Ms }) => p99Ms));
  const events = counts.map(one => one.events);
  const cpu = `cores: server ${serverCpu.toFixed(2)}, PostgreSQL ${databaseCpu.toFixed(2)}, conductor ${conductorCpu.toFixed(2)}`;
  const odd = counts.filter(one => one.gaps > 0).length;
  return [
    {
      what: 'attempts per s / 116',
      ratio: perS / PER_S,
      bound: '>= 0.95',
      holds: perS >= 0.95 * PER_S,
      detail: `load ${everyMinute(samples.map(({ load }) => load)).join(' ')}`,
    },
    rowAtMost('RSS of the server, MB', Math.max(...memory), 300, `${perS.toFixed(0)} attempts per s; ${cpu}`),
    rowAtMost(
      'RSS in the last quarter / in the second',
      growth,
      1.1,
      `MB, every minute: ${everyMinute(memory).join(' ')}`,
    ),
    rowAtMost(
      'p99 of claims, ms',
      p99,
      250,
      `from offer to begin, every minute: ${claims.map(one => one.p99Ms).join(' ')}`,
    ),
    rowAtMost(
      'sessions of PostgreSQL',
      Math.max(...samples.map(one => one.sessions)),
      30,
      'server, conductor and this bench',
    ),
    rowAtMost('lost attempts', lost, 0, `${seen.requests} requests, exit code ${code}`),
    rowAtMost('keys that the agent saw twice', seen.requests - seen.keys, 0, `${seen.keys} keys`),
    rowAtMost(
      'viewers that missed or repeated an event',
      odd,
      0,
      `${counts.length} viewers, ${Math.min(...events)} to ${Math.max(...events)} events`,
    ),
  ];
}

function everyMinute(values: readonly number[]): number[] {
  return values.filter((_, index) => index % (60_000 / SAMPLE_MS) === 0);
}

async function one(postgres: TestPostgres, url: string, sql: string): Promise<number> {
  return Number((await postgres.sql<{ n: string }>(sql, url))[0]?.n);
}

function conduct(cwd: string, queue: string, agentUrl: string, cases: number) {
  const lines = Array.from({ length: cases }, (_, index) => JSON.stringify({ id: `c${index}`, input: { user: 'x' } }));
  writeFileSync(path.join(cwd, 'cases.jsonl'), `${lines.join('\n')}\n`);
  const words = `run suite cases.jsonl --base-url ${agentUrl} --as new --run-id team --queue --concurrency ${WINDOW}`;
  const env = { ...process.env, PROCTOR_QUEUE: queue };
  const program = path.resolve('dist', 'proctor.js');
  const child = spawn(process.execPath, [program, ...words.split(' ')], { cwd, env, stdio: 'ignore' });
  return { child, ended: new Promise<number | null>(resolve => child.once('exit', resolve)) };
}

function newToken(cwd: string): string {
  const program = path.resolve('dist', 'proctor.js');
  const words = ['token', 'new', '--role', 'worker', '--name', 'workers', '--json'];
  return (JSON.parse(execFileSync(process.execPath, [program, ...words], { cwd }).toString()) as { token: string })
    .token;
}

function play(words: readonly string[], children: ChildProcess[]): ChildProcess {
  const child = spawn(process.execPath, [import.meta.filename, ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  return child;
}

interface Seen {
  readonly requests: number;
  readonly keys: number;
}

/** Answers after a second, and counts by key. A GET returns the counts. */
async function playAgent(): Promise<void> {
  const keys = new Set<string>();
  let requests = 0;
  const server = createServer((request, response) => {
    if (request.method === 'GET') {
      response.end(JSON.stringify({ requests, keys: keys.size }));
      return;
    }
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      requests++;
      keys.add(String(request.headers['idempotency-key']));
      const { case_id, version } = JSON.parse(text) as { case_id: string; version: string };
      const final_output = { content_type: 'text', content: 'x'.repeat(200) };
      const answer = JSON.stringify({ case_id, version, proposed_actions: [], events: [], final_output });
      setTimeout(() => response.end(answer), LATENCY_MS);
    });
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', 4_000, resolve));
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

async function answerOf(url: string): Promise<string> {
  return (await fetch(url)).text();
}

/** The workers of one process. They differ in their names only. */
async function playWorkers([url = '', token = '', count = '', group = '', cwd]: readonly string[]): Promise<void> {
  // A thousand at once would keep the server from answering within the time that a worker gives it.
  const play = async (index: number): Promise<never> => {
    await wait(index * STAGGER_MS);
    const name = `w${group}-${index}`;
    const options = { on: { url, token }, slots: 4, name, drainMs: 0, ...(cwd !== undefined && { cwd }) };
    for (;;) await runQueueWorker(options).catch(() => wait(1_000));
  };
  await Promise.all(Array.from({ length: Number(count) }, (_, index) => play(index)));
}

const STAGGER_MS = 60;

interface View {
  events: number;
  /** Lines of the journal that came twice, or not at all. */
  gaps: number;
  connections: number;
}

/** Prints what the viewers saw when the run is sealed, or at SIGTERM. */
async function playViewers([url = '', authorization = '', count = '']: readonly string[]): Promise<void> {
  const views = Array.from({ length: Number(count) }, (): View => ({ events: 0, gaps: 0, connections: 0 }));
  const stopped = new Promise<void>(resolve => void process.once('SIGTERM', () => resolve()));
  const all = Promise.all(views.map(view => follow(`${url}/v1/runs/team/events`, { authorization }, view)));
  await Promise.race([all, stopped]);
  console.log(JSON.stringify(views));
  process.exit();
}

/** Follows a run to its seal. Connects again where it was, as a browser does. */
async function follow(url: string, headers: Readonly<Record<string, string>>, view: View): Promise<void> {
  let [line, last] = [0, ''];
  for (let isOver = false; !isOver; ) {
    view.connections++;
    const more = last === '' ? {} : { 'last-event-id': last };
    const response = await opened(url, { ...headers, ...more });
    let rest = '';
    try {
      for await (const chunk of response ?? []) {
        const texts = `${rest}${String(chunk)}`.split('\n\n');
        rest = texts.pop() ?? '';
        for (const text of texts.filter(each => each.includes('\ndata: '))) {
          last = /^id: (.*)$/m.exec(text)?.[1] ?? last;
          const number = /"line":(\d+)/.exec(text)?.[1];
          if (number !== undefined && Number(number) !== ++line) {
            view.gaps++;
            line = Number(number);
          }
          view.events++;
          isOver ||= /^event: (?:sealed|gone)$/m.test(text);
        }
      }
    } catch {
      // The server cut the connection.
    }
    if (!isOver) await wait(1_000);
  }
}

function opened(url: string, headers: Readonly<Record<string, string>>): Promise<IncomingMessage | undefined> {
  return new Promise(resolve => {
    const asked = get(url, { agent: false, headers }, resolve);
    asked.on('error', () => resolve(undefined));
  });
}

const [role = '', ...words] = process.argv.slice(2);
if (role === 'agent') await playAgent();
else if (role === 'workers') await playWorkers(words);
else if (role === 'viewers') await playViewers(words);
else await main(Number(role || MINUTES));
