/**
 * The second half of `npm run bench:queue`: whole suites through PostgreSQL and worker processes. The agent counts and
 * times. Ratios count; absolute rates depend on the machine.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { migrateQueueTables } from '../src/verbs/queue.ts';
import { TestPostgres } from '../tests/support/postgres.ts';
import { bareRate } from './queue-engines.ts';
import { printRows, type Row } from './rows.ts';

const PROCTOR = path.join(process.cwd(), 'dist', 'proctor.js');
const REPORT = JSON.stringify({ text: 'x'.repeat(1500) });
const FAST_CASES = 3_000;
const SLOW_CASES = 320;
const SLOTS = 32;

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

  /** Requests of a run per second, from the first to the last. */
  rate(runId: string): number {
    const times = this.seen.filter(one => one.runId === runId).map(({ atMs }) => atMs);
    return ((times.length - 1) * 1_000) / (Math.max(...times) - Math.min(...times));
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
  readonly #postgres: TestPostgres;
  readonly url: string;
  readonly #baseUrl: string;

  private constructor(postgres: TestPostgres, url: string, baseUrl: string, agent: TimedAgent) {
    this.#postgres = postgres;
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

  worker(slots: number): ChildProcess {
    return this.#proctor(['worker', '--slots', String(slots), '--drain', '0s']);
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

  async stop(): Promise<void> {
    const children = [...this.#children].filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
    for (const child of children) child.kill('SIGKILL');
    await Promise.all(children.map(child => new Promise(resolve => child.once('exit', resolve))));
    this.agent.stop();
    await this.#postgres.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #proctor(words: readonly string[]): ChildProcess {
    const env = { ...process.env, PROCTOR_QUEUE: this.url };
    const child = spawn(process.execPath, [PROCTOR, ...words], { cwd: this.#folder, env, stdio: 'ignore' });
    this.#children.add(child);
    return child;
  }
}

async function fastRow(bench: Bench): Promise<Row> {
  const bare = await bareRate(bench.url, { attempts: FAST_CASES, free: SLOTS, report: REPORT, settled: 'grouped' });
  await bench.suite('fast', FAST_CASES, 256).ended;
  const rate = bench.agent.rate('fast');
  const detail = `${Math.round(rate)} per s against ${Math.round(bare)} per s, agent of 1 ms, 2 workers`;
  return {
    what: 'A4 suite / bare SKIP LOCKED',
    ratio: rate / bare,
    bound: '>= 0.25',
    holds: rate / bare >= 0.25,
    detail,
  };
}

async function slowRow(bench: Bench): Promise<Row> {
  bench.agent.delayMs = 1_000;
  await bench.suite('slow', SLOW_CASES, 2 * SLOTS).ended;
  const ratio = bench.agent.rate('slow') / SLOTS;
  const detail = `attempts of 1 s, ${SLOTS} slots, window ${2 * SLOTS}: ${bench.agent.rate('slow').toFixed(1)} per s`;
  return { what: 'A5 rate / slots', ratio, bound: '>= 0.93', holds: ratio >= 0.93, detail };
}

async function fairRow(bench: Bench): Promise<Row> {
  bench.agent.delayMs = 100;
  const first = bench.suite('a', 3_000, 64);
  await until(() => bench.agent.seen.filter(({ runId }) => runId === 'a').length > 300);
  await bench.suite('b', 500, 64).ended;
  first.child.kill('SIGKILL');
  await first.ended;
  const times = bench.agent.seen.filter(({ runId }) => runId === 'b').map(({ atMs }) => atMs);
  const [from, to] = [Math.min(...times), Math.max(...times)];
  const both = bench.agent.seen.filter(({ atMs }) => atMs >= from && atMs <= to);
  const ratio = times.length / both.length;
  const detail = `run of 500 behind a run of 3000: ${times.length} of ${both.length} requests while both ran`;
  return { what: 'A7 share of the second run', ratio, bound: '>= 0.4', holds: ratio >= 0.4, detail };
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
    bench.worker(SLOTS / 2);
    bench.worker(SLOTS / 2);
    const rows: Row[] = [];
    for (const measure of [fastRow, slowRow, cancelRow, fairRow]) rows.push(await measure(bench));
    printRows('queue-suite', rows, { fast_cases: FAST_CASES, slow_cases: SLOW_CASES, slots: SLOTS });
  } finally {
    await bench.stop();
  }
}

await main();
