/** The live view of a suite of 10,000 cases with 200 viewers, against a bare `node:http` server that sends the same events. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, get, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { LiveHub } from '../src/serve/live/hub.ts';
import type { Row } from './rows.ts';
import { FILES_IN } from './served.ts';

const CASES = 10_000;
const VIEWERS = 200;
const PROCESSES = 2;
const CONCURRENCY = 64;
const LATENCY_MS = 10;
/** Three lines for the run, two for each case, and the seal. */
const EVENTS = 3 + 2 * CASES + 1;

/** Measures both servers. Viewers, agent, suite and servers are separate processes, so only the server's CPU counts. */
export async function liveRows(program: string): Promise<Row[]> {
  const folder = mkdtempSync(path.join(FILES_IN, 'proctor-bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const start = (...args: readonly string[]) => new Part(program, args);
  const agent = start('agent');
  const suite = runSuite(folder, await agent.next());
  const run = path.join(folder, '.proctor', 'runs', 'new', 'bench');
  while (!existsSync(path.join(run, 'journal.ndjson'))) await wait(5);
  const kept = path.join(folder, 'events.txt');
  const live = await measured(start('hub', run), start, kept);
  if ((await once(suite, 'exit'))[0] !== 0) throw new Error('the suite failed');
  agent.kill();
  const bare = await measured(start('bare', kept), start, '');
  const isWhole = live.counts.every(count => count === EVENTS);
  const micro = (one: Measured): string => `${(1_000 * perEvent(one)).toFixed(2)} µs`;
  return [
    row(
      'events delivered in order ÷ events, least of all viewers',
      Math.min(...live.counts) / EVENTS,
      '1',
      isWhole,
      `${EVENTS} events`,
    ),
    row(
      'CPU per event and viewer ÷ bare node:http',
      perEvent(live) / perEvent(bare),
      '≤ 4',
      perEvent(live) <= 4 * perEvent(bare),
      `${micro(live)} against ${micro(bare)}`,
    ),
    row('RSS of the server, MB', live.rssMb, '≤ 300', live.rssMb <= 300, `bare: ${bare.rssMb.toFixed(0)} MB`),
  ];
}

function row(what: string, ratio: number, bound: string, holds: boolean, detail: string): Row {
  return { what: `${CASES} cases, ${VIEWERS} viewers: ${what}`, ratio, bound, holds, detail };
}

function perEvent({ cpuMs, counts }: Measured): number {
  return cpuMs / counts.reduce((sum, count) => sum + count, 0);
}

interface Measured {
  readonly cpuMs: number;
  readonly rssMb: number;
  /** The number of events that each viewer got in order, without a gap. */
  readonly counts: readonly number[];
}

async function measured(server: Part, start: (...args: readonly string[]) => Part, keepIn: string): Promise<Measured> {
  const url = await server.next();
  const viewers = Array.from({ length: PROCESSES }, (_, index) =>
    start('viewers', url, String(VIEWERS / PROCESSES), index === 0 ? keepIn : ''),
  );
  const counts = (await Promise.all(viewers.map(one => one.next()))).flatMap(text => JSON.parse(text) as number[]);
  const { cpuMs, rssMb } = JSON.parse(await server.next()) as Measured;
  server.kill();
  return { cpuMs, rssMb, counts };
}

function runSuite(cwd: string, url: string): ChildProcess {
  writeFileSync(path.join(cwd, 'cases.jsonl'), `${Array.from({ length: CASES }, caseLine).join('\n')}\n`);
  const proctor = path.join(process.cwd(), 'dist', 'proctor.js');
  const args = ['run', 'suite', 'cases.jsonl', '--base-url', url, '--as', 'new', '--run-id', 'bench'];
  return spawn(process.execPath, [proctor, ...args, '--concurrency', String(CONCURRENCY)], { cwd, stdio: 'ignore' });
}

function caseLine(_: unknown, index: number): string {
  const expected = { contains: 'Question' };
  return JSON.stringify({ id: `case-${index}`, input: { user: `Question ${index}` }, expected });
}

/** A process of this benchmark that prints a line per result. */
class Part {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor(program: string, args: readonly string[]) {
    this.#child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#lines = createInterface({ input: this.#child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]();
  }

  async next(): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error('a process of the benchmark ended early');
    return value;
  }

  kill(): void {
    this.#child.kill();
  }
}

/** Plays one of the processes. */
export async function playLive(role: string, [first = '', second = '', third = '']: readonly string[]): Promise<void> {
  if (role === 'agent') await agent();
  else if (role === 'hub') await hub(first);
  else if (role === 'bare') await bare(first);
  else if (role === 'viewers') await viewers(first, Number(second), third);
}

async function agent(): Promise<void> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { case_id, version, input } = JSON.parse(Buffer.concat(chunks).toString()) as Question;
      const final_output = { content_type: 'text', content: `You said: ${input.user} ${'y'.repeat(300)}` };
      const text = JSON.stringify({ case_id, version, proposed_actions: [], events: [], final_output });
      setTimeout(() => response.writeHead(200, { 'content-type': 'application/json' }).end(text), LATENCY_MS);
    });
  });
  await listening(server);
}

interface Question {
  readonly case_id: string;
  readonly version: string;
  readonly input: { readonly user: string };
}

async function listening(server: ReturnType<typeof createServer>): Promise<void> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', 1_000, resolve));
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

/** The real hub. */
async function hub(folder: string): Promise<void> {
  const live = new LiveHub();
  const place = { id: path.basename(folder), lane: 'new', folder };
  const server = createServer((_, response) => live.view(place, response));
  await listening(server);
  const began = process.cpuUsage();
  await until(() => live.counts.viewers === VIEWERS);
  await until(() => live.counts.viewers === 0);
  report(began);
}

/** The least that a server can do: it writes each event to each viewer. */
async function bare(file: string): Promise<void> {
  const events = readFileSync(file, 'utf8').split(/(?<=\n\n)/);
  const open = new Set<ServerResponse>();
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    open.add(response);
    response.once('close', () => open.delete(response));
  });
  await listening(server);
  const began = process.cpuUsage();
  await until(() => open.size === VIEWERS);
  for (const [index, event] of events.entries()) {
    for (const response of open) response.write(event);
    // As many at once as a suite with this concurrency.
    if (index % CONCURRENCY === 0) await wait(1);
  }
  for (const response of open) response.end();
  await until(() => open.size === 0);
  report(began);
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await wait(20);
}

function report(began: NodeJS.CpuUsage): void {
  const { user, system } = process.cpuUsage(began);
  console.log(JSON.stringify({ cpuMs: (user + system) / 1_000, rssMb: process.resourceUsage().maxRSS / 1_024 }));
}

/** Opens viewers, and prints how many events each got. Stores what the first one got. */
async function viewers(url: string, count: number, keepIn: string): Promise<void> {
  const views = await Promise.all(Array.from({ length: count }, (_, index) => view(url, index === 0 && keepIn !== '')));
  if (keepIn !== '') writeFileSync(keepIn, views[0]?.kept.join('') ?? '');
  console.log(JSON.stringify(views.map(({ events }) => events)));
}

async function view(url: string, isKept: boolean): Promise<{ readonly events: number; readonly kept: string[] }> {
  const [response] = (await once(get(url, { agent: false }), 'response')) as [NodeJS.ReadableStream];
  const kept: string[] = [];
  let [events, line, rest] = [0, 0, ''];
  for await (const chunk of response) {
    const texts = `${rest}${String(chunk)}`.split('\n\n');
    rest = texts.pop() ?? '';
    for (const text of texts.filter(one => one.includes('\ndata: '))) {
      const number = /"line":(\d+)/.exec(text)?.[1];
      if (number === undefined || Number(number) === ++line) events++;
      if (isKept) kept.push(`${text}\n\n`);
    }
  }
  return { events, kept };
}
