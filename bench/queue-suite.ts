/**
 * The second half of `npm run bench:queue`: whole suites through PostgreSQL and worker processes. The agent counts and
 * times. Ratios count; absolute rates depend on the machine.
 *
 * A4 compares a suite with pg-boss alone: as many workers, slots and bytes, and a report that is just as durable. The CPU of
 * PostgreSQL is compared like with like. The rates are not: the engine is one process beside PostgreSQL and asks no agent,
 * while a suite is five processes that also ask, sign, verify, write and judge. On two cores they limit it, not the queue.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { migrateQueueTables } from '../src/verbs/queue.ts';
import { TestPostgres } from '../tests/support/postgres.ts';
import { median } from './median.ts';
import { type EngineLoad, engineRate } from './queue-engines.ts';
import { printRows, type Row } from './rows.ts';
import { endedCpuMs, treeCpuMs } from './served.ts';

const PROCTOR = path.join(process.cwd(), 'dist', 'proctor.js');
const FAST_CASES = 5_000;
const ROUNDS = 3;
const SLOW_CASES = 640;
const SLOTS = 32;
const WORKERS = 2;
/** Of all workers, for attempts that take 1 ms. */
const FAST_SLOTS = 256;
const FIRST_CASES = 5_000;
const SECOND_CASES = 500;

/** An agent that answers after a while, and notes when it saw which key. */
class TimedAgent {
  readonly seen: { readonly runId: string; readonly atMs: number }[] = [];
  closed = 0;
  delayMs: number | undefined = 1;
  readonly #server = createServer((request, response) => {
    const [runId = ''] = String(request.headers['idempotency-key']).split('/');
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      this.seen.push({ runId, atMs: performance.now() });
      response.on('close', () => this.closed++);
      if (this.delayMs !== undefined) setTimeout(() => response.end(answerTo(text)), this.delayMs);
    });
  });

  async start(): Promise<string> {
    await new Promise<void>(resolve => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** Attempts of a run per second, from the first request to the last answer. */
  rate(runId: string): number {
    const times = this.seen.filter(one => one.runId === runId).map(({ atMs }) => atMs);
    return (times.length * 1_000) / (Math.max(...times) + (this.delayMs ?? 0) - Math.min(...times));
  }
}

function answerTo(text: string): string {
  const { case_id, version } = JSON.parse(text) as { case_id: string; version: string };
  const final_output = { content_type: 'text', content: 'x'.repeat(200) };
  return JSON.stringify({ case_id, version, proposed_actions: [], events: [], final_output });
}

class Bench {
  readonly agent = new TimedAgent();
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'proctor-bench-'));
  readonly #children = new Set<ChildProcess>();
  #workers: readonly ChildProcess[] = [];
  readonly postgres: TestPostgres;
  readonly url: string;
  readonly #baseUrl: string;

  private constructor(postgres: TestPostgres, url: string, baseUrl: string, agent: TimedAgent) {
    this.postgres = postgres;
    this.url = url;
    this.#baseUrl = baseUrl;
    this.agent = agent;
  }

  static async start(): Promise<Bench> {
    const postgres = await TestPostgres.start();
    const url = await postgres.database();
    await migrateQueueTables(url);
    const agent = new TimedAgent();
    return new Bench(postgres, url, await agent.start(), agent);
  }

  /** Workers with these slots in total, instead of those before. */
  async workers(slots: number): Promise<void> {
    await ended(this.#workers);
    const flags = ['--slots', String(slots / WORKERS), '--drain', '0s'];
    this.#workers = Array.from({ length: WORKERS }, () => this.#proctor(['worker', ...flags]));
  }

  suite(runId: string, cases: number, window: number): { readonly child: ChildProcess; readonly ended: Promise<void> } {
    const lines = Array.from({ length: cases }, (_, index) =>
      JSON.stringify({ id: `c${index}`, input: { user: 'x' } }),
    );
    writeFileSync(path.join(this.#folder, `${runId}.jsonl`), `${lines.join('\n')}\n`);
    const flags = `--as new --run-id ${runId} --queue --heartbeat 10s --concurrency ${window}`;
    const child = this.#proctor(['run', 'suite', `${runId}.jsonl`, '--base-url', this.#baseUrl, ...flags.split(' ')]);
    return { child, ended: new Promise(resolve => child.once('exit', () => resolve())) };
  }

  /** Texts as long as those of a run in the queue. Jobs are there while they wait, and reports afterwards. */
  async texts(): Promise<{ readonly ask: string; readonly report: string }> {
    const { child, ended } = this.suite('texts', 500, 256);
    const job = 'select avg(length(data::text)) as length from proctor_queue.job_common';
    let ask = 0;
    while (ask === 0 && child.exitCode === null) ask = await this.#length(job);
    await ended;
    const report = await this.#length(`select avg(length(body)) as length from proctor.outcome where run_id = 'texts'`);
    if (ask === 0 || report === 0) throw new Error('The first run left no texts.');
    return { ask: 'x'.repeat(ask), report: 'x'.repeat(report) };
  }

  async #length(sql: string): Promise<number> {
    return Math.round(Number((await this.postgres.sql<{ length: string | null }>(sql, this.url))[0]?.length));
  }

  async stop(): Promise<void> {
    await ended([...this.#children]);
    this.agent.stop();
    await this.postgres.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #proctor(words: readonly string[]): ChildProcess {
    const env = { ...process.env, PROCTOR_QUEUE: this.url };
    const child = spawn(process.execPath, [PROCTOR, ...words], { cwd: this.#folder, env, stdio: 'ignore' });
    this.#children.add(child);
    return child;
  }
}

/** Kills those that still run. */
async function ended(children: readonly ChildProcess[]): Promise<void> {
  const running = children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
  for (const child of running) child.kill('SIGKILL');
  await Promise.all(running.map(child => new Promise(resolve => child.once('exit', resolve))));
}

/** The suite and the bare engine take turns, so that both meet the same load. */
async function fastRows(bench: Bench, slots: number, texts: EngineTexts): Promise<Row[]> {
  const [engine, suite]: [Measured[], Measured[]] = [[], []];
  const same = { attempts: FAST_CASES, workers: WORKERS, free: slots / WORKERS, ...texts };
  for (let round = 0; round < ROUNDS; round++) {
    const run = `fast${slots}-${round}`;
    suite.push(
      await measured(bench, async () => {
        await bench.suite(run, FAST_CASES, 256).ended;
        return bench.agent.rate(run);
      }),
    );
    engine.push(await measured(bench, () => engineRate(bench.url, same)));
  }
  const of = (all: readonly Measured[], key: keyof Measured): number => median(all.map(one => one[key]));
  const [rate, bare] = [of(suite, 'perS'), of(engine, 'perS')];
  const conductorMs = of(suite, 'conductorMs');
  const [databaseMs, engineMs] = [of(suite, 'databaseMs'), of(engine, 'databaseMs')];
  const shown = (all: readonly Measured[]): string => all.map(({ perS }) => Math.round(perS)).join(', ');
  return [
    {
      what: `A4 suite / bare engine, ${slots} slots`,
      ratio: rate / bare,
      bound: '>= 0.25',
      holds: rate / bare >= 0.25,
      detail: `${shown(suite)} per s against ${shown(engine)} per s, agent of 1 ms, ${WORKERS} workers`,
    },
    {
      what: `A4 CPU of the conductor per case, ms, ${slots} slots`,
      ratio: conductorMs,
      bound: '<= 1',
      holds: conductorMs <= 1,
      detail: 'the whole process: start, conduct, seal, judge',
    },
    {
      what: `A4 CPU of PostgreSQL: suite / bare engine, ${slots} slots`,
      ratio: databaseMs / engineMs,
      bound: '<= 1.5',
      holds: databaseMs <= 1.5 * engineMs,
      detail: `${databaseMs.toFixed(2)} ms against ${engineMs.toFixed(2)} ms per attempt`,
    },
  ];
}

type EngineTexts = Pick<EngineLoad, 'ask' | 'report'>;

/** CPU is per attempt. */
interface Measured {
  readonly perS: number;
  readonly conductorMs: number;
  readonly databaseMs: number;
}

/** No other child of this process ends meanwhile, so what ended children used is the conductor's. */
async function measured({ postgres }: Bench, work: () => Promise<number>): Promise<Measured> {
  const [databaseFromMs, conductorFromMs] = [treeCpuMs(postgres.pid), endedCpuMs()];
  const perS = await work();
  return {
    perS,
    conductorMs: (endedCpuMs() - conductorFromMs) / FAST_CASES,
    databaseMs: (treeCpuMs(postgres.pid) - databaseFromMs) / FAST_CASES,
  };
}

async function slowRow(bench: Bench): Promise<Row> {
  bench.agent.delayMs = 1_000;
  await bench.suite('slow', SLOW_CASES, 2 * SLOTS).ended;
  const ratio = bench.agent.rate('slow') / SLOTS;
  const detail = `attempts of 1 s, ${SLOTS} slots, window ${2 * SLOTS}: ${bench.agent.rate('slow').toFixed(1)} per s`;
  return { what: 'A5 rate / slots', ratio, bound: '>= 0.93', holds: ratio >= 0.93, detail };
}

/** The second run starts while 4,400 cases of the first have not begun. It ends first. */
async function fairRow(bench: Bench): Promise<Row> {
  bench.agent.delayMs = 100;
  const first = bench.suite('a', FIRST_CASES, 64);
  const seenOf = (run: string) => bench.agent.seen.filter(({ runId }) => runId === run);
  await until(() => seenOf('a').length >= FIRST_CASES - 4_400);
  await bench.suite('b', SECOND_CASES, 64).ended;
  const isFirstOver = seenOf('a').length === FIRST_CASES;
  first.child.kill('SIGKILL');
  await first.ended;
  const times = seenOf('b').map(({ atMs }) => atMs);
  const [from, to] = [Math.min(...times), Math.max(...times)];
  const both = bench.agent.seen.filter(({ atMs }) => atMs >= from && atMs <= to);
  const ratio = times.length / both.length;
  const detail = `a run of ${SECOND_CASES} behind 4,400 waiting cases: ${times.length} of ${both.length} requests while both ran`;
  const holds = ratio >= 0.4 && !isFirstOver && times.length === SECOND_CASES;
  return { what: 'A7 share of the second run', ratio, bound: '>= 0.4', holds, detail };
}

async function cancelRow(bench: Bench): Promise<Row> {
  bench.agent.delayMs = undefined;
  const before = bench.agent.seen.length;
  const { child, ended } = bench.suite('stop', 8, 8);
  await until(() => bench.agent.seen.length === before + 8);
  const closed = bench.agent.closed;
  const startedMs = performance.now();
  child.kill('SIGINT');
  await until(() => bench.agent.closed >= closed + 8);
  const seconds = (performance.now() - startedMs) / 1_000;
  await ended;
  const bound = 2.5 + 1;
  const detail = `${seconds.toFixed(2)} s from Ctrl-C until 8 connections were closed; a beat takes 2.5 s`;
  return { what: 'A8 time / (beat + 1 s)', ratio: seconds / bound, bound: '<= 1', holds: seconds <= bound, detail };
}

async function until(isTrue: () => boolean): Promise<void> {
  for (let waitedMs = 0; !isTrue(); waitedMs += 5) {
    if (waitedMs > 300_000) throw new Error('Nothing happened for 5 minutes.');
    await new Promise(resolve => setTimeout(resolve, 5));
  }
}

async function main(): Promise<void> {
  const bench = await Bench.start();
  try {
    const rows: Row[] = [];
    await bench.workers(FAST_SLOTS);
    const texts = await bench.texts();
    for (const slots of [FAST_SLOTS, SLOTS]) {
      await bench.workers(slots);
      rows.push(...(await fastRows(bench, slots, texts)));
    }
    for (const measure of [slowRow, cancelRow, fairRow]) rows.push(await measure(bench));
    printRows('queue-suite', rows, { fast_cases: FAST_CASES, slow_cases: SLOW_CASES, slots: SLOTS });
  } finally {
    await bench.stop();
  }
}

await main();
