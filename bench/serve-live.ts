/**
 * The live view of a suite of 10,000 cases with 200 viewers, against a bare `node:http` server that sends the same events.
 * The server is `proctor serve`, and the viewers have tokens. `node scripts/run.mjs bench/serve.ts live CASES VIEWERS`
 * measures fewer, after `npm run build`, and stores nothing. With fewer than 500 cases, the suite may end too early.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import type { Row } from './rows.ts';
import { cpuMsOf, FILES_IN, newToken, peakRssMbOf, type Started, startServer } from './served.ts';

const PROCESSES = 2;
const CONCURRENCY = 64;
const LATENCY_MS = 10;

interface Size {
  readonly cases: number;
  readonly viewers: number;
}

const FULL: Size = { cases: 10_000, viewers: 200 };

/** The size that the command line names. What it leaves out is as large as in the benchmark. */
export function sizeOf([cases = FULL.cases, viewers = FULL.viewers]: readonly (string | number)[]): Size {
  return { cases: Number(cases), viewers: Number(viewers) };
}

/** Three lines for the run, two for each case, and the seal. */
const eventsOf = ({ cases }: Size): number => 3 + 2 * cases + 1;

/** Measures both servers. Viewers, agent, suite and servers are separate processes, so only the server's CPU counts. */
export async function liveRows(program: string, size = FULL): Promise<Row[]> {
  const folder = mkdtempSync(path.join(FILES_IN, 'proctor-bench-'));
  const children: ChildProcess[] = [];
  try {
    const play: Play = (...args) => new Part(program, args, children);
    const agent = play('agent');
    const agentUrl = await agent.next();
    const server = await startServer(folder, children);
    const suite = runSuite(folder, agentUrl, size, children);
    const watched = await watchedIn(folder, server);
    const kept = path.join(folder, 'events.txt');
    const live = await measured(watched, play, size, kept);
    if ((await suite) !== 0) throw new Error('the suite failed');
    const bareServer = play('bare', kept, String(size.viewers));
    const barePlace = { pid: bareServer.pid, url: await bareServer.next(), tokens: [] };
    const bare = await measured(barePlace, play, size, '');
    return rowsOf(size, live, bare);
  } finally {
    for (const child of children) child.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

function rowsOf(size: Size, live: Measured, bare: Measured): Row[] {
  const events = eventsOf(size);
  const isWhole = live.counts.every(count => count === events);
  const micro = (one: Measured): string => `${(1_000 * perEvent(one)).toFixed(2)} µs`;
  const row = (what: string, ratio: number, bound: string, holds: boolean, detail: string): Row => ({
    what: `${size.cases} cases, ${size.viewers} viewers: ${what}`,
    ratio,
    bound,
    holds,
    detail,
  });
  return [
    row(
      'events delivered in order ÷ events, least of all viewers',
      Math.min(...live.counts) / events,
      '1',
      isWhole,
      `${events} events`,
    ),
    row(
      'CPU of proctor serve per event and viewer ÷ bare node:http',
      perEvent(live) / perEvent(bare),
      '≤ 4',
      perEvent(live) <= 4 * perEvent(bare),
      `${micro(live)} against ${micro(bare)}`,
    ),
    row('peak RSS of proctor serve, MB', live.rssMb, '≤ 300', live.rssMb <= 300, `bare: ${bare.rssMb.toFixed(0)} MB`),
  ];
}

function perEvent({ cpuMs, counts }: Measured): number {
  return cpuMs / counts.reduce((sum, count) => sum + count, 0);
}

interface Measured {
  /** From before the first viewer until the last one has left. */
  readonly cpuMs: number;
  readonly rssMb: number;
  /** The number of events that each viewer got in order, without a gap. */
  readonly counts: readonly number[];
}

interface Watched extends Pick<Started, 'pid' | 'url'> {
  /** A token for each process of viewers; none if the server asks for none. */
  readonly tokens: readonly string[];
}

/** The events of the suite, once the server shows it. */
async function watchedIn(folder: string, { pid, url, headers }: Started): Promise<Watched> {
  const tokens = Array.from({ length: PROCESSES }, (_, index) => newToken(folder, 'viewer', `viewers-${index}`));
  while (!existsSync(path.join(folder, '.proctor', 'runs', 'new', 'bench', 'journal.ndjson'))) await wait(5);
  while (!(await fetch(`${url}/v1/runs/bench`, { headers })).ok) await wait(20);
  return { pid, url: `${url}/v1/runs/bench/events`, tokens };
}

async function measured({ pid, url, tokens }: Watched, play: Play, size: Size, keepIn: string): Promise<Measured> {
  const fromMs = cpuMsOf(pid);
  const viewers = Array.from({ length: PROCESSES }, (_, index) => {
    const count = Math.floor((size.viewers + index) / PROCESSES);
    return play('viewers', url, tokens[index] ?? '', String(count), index === 0 ? keepIn : '');
  });
  const counts = (await Promise.all(viewers.map(one => one.next()))).flatMap(text => JSON.parse(text) as number[]);
  return { cpuMs: cpuMsOf(pid) - fromMs, rssMb: peakRssMbOf(pid), counts };
}

/** Starts the suite. Returns its exit code. */
function runSuite(cwd: string, url: string, { cases }: Size, children: ChildProcess[]): Promise<number | null> {
  writeFileSync(path.join(cwd, 'cases.jsonl'), `${Array.from({ length: cases }, caseLine).join('\n')}\n`);
  const proctor = path.resolve('dist', 'proctor.js');
  const args = ['run', 'suite', 'cases.jsonl', '--base-url', url, '--as', 'new', '--run-id', 'bench'];
  const all = [proctor, ...args, '--concurrency', String(CONCURRENCY)];
  const child = spawn(process.execPath, all, { cwd, stdio: 'ignore' });
  children.push(child);
  return new Promise(resolve => child.once('exit', resolve));
}

function caseLine(_: unknown, index: number): string {
  const expected = { contains: 'Question' };
  return JSON.stringify({ id: `case-${index}`, input: { user: `Question ${index}` }, expected });
}

type Play = (...args: readonly string[]) => Part;

/** A process of this benchmark that prints a line per result. */
class Part {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor(program: string, args: readonly string[], children: ChildProcess[]) {
    this.#child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(this.#child);
    this.#lines = createInterface({ input: this.#child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]();
  }

  async next(): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error('a process of the benchmark ended early');
    return value;
  }

  get pid(): number {
    return this.#child.pid as number;
  }
}

/** Plays one of the processes. */
export async function playLive(role: string, rest: readonly string[]): Promise<void> {
  const [first = '', second = '', third = '', fourth = ''] = rest;
  if (role === 'agent') await agent();
  else if (role === 'bare') await bare(first, Number(second));
  else if (role === 'viewers') await viewers(first, second, Number(third), fourth);
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

/** The least that a server can do: it writes each event to each viewer. */
async function bare(file: string, viewerCount: number): Promise<void> {
  const events = readFileSync(file, 'utf8').split(/(?<=\n\n)/);
  const open = new Set<ServerResponse>();
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    open.add(response);
    response.once('close', () => open.delete(response));
  });
  await listening(server);
  while (open.size < viewerCount) await wait(20);
  for (const [index, event] of events.entries()) {
    for (const response of open) response.write(event);
    // As many at once as a suite with this concurrency.
    if (index % CONCURRENCY === 0) await wait(1);
  }
  for (const response of open) response.end();
}

/** Opens viewers, and prints how many events each got. Stores what the first one got. */
async function viewers(url: string, token: string, count: number, keepIn: string): Promise<void> {
  const headers = token === '' ? {} : { authorization: `Bearer ${token}` };
  const views = await Promise.all(
    Array.from({ length: count }, (_, index) => view(url, headers, index === 0 && keepIn !== '')),
  );
  if (keepIn !== '') writeFileSync(keepIn, views[0]?.kept.join('') ?? '');
  console.log(JSON.stringify(views.map(({ events }) => events)));
}

async function view(
  url: string,
  headers: Readonly<Record<string, string>>,
  isKept: boolean,
): Promise<{ readonly events: number; readonly kept: string[] }> {
  const [response] = (await once(get(url, { agent: false, headers }), 'response')) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`The server answered ${response.statusCode}.`);
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
