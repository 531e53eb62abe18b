/**
 * `node scripts/run.mjs bench/serve.ts idle [VIEWERS]`, after `npm run build`: the memory of `proctor serve` for each view
 * of a run in which nothing happens. It stores nothing.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { type ClientRequest, get } from 'node:http';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { median } from './median.ts';
import { type Row, rowAtMost } from './rows.ts';
import { FILES_IN, newToken, rssMbOf, type Started, startServer } from './served.ts';

/** As many as a server accepts, and as many as it accepts for one token. */
const VIEWERS = 1_000;
const PER_TOKEN = 250;
const KB_MAX = 100;
/** The first views load code, which is no cost of a view. */
const WARM_UP = 50;
const SAMPLES = 10;
const SAMPLE_MS = 500;

export async function idleRows(viewers = VIEWERS): Promise<Row[]> {
  const folder = mkdtempSync(path.join(FILES_IN, 'proctor-bench-'));
  const children: ChildProcess[] = [];
  try {
    const server = await startServer(folder, children);
    const url = `${server.url}/v1/runs/${await idleRun(folder, server, children)}/events`;
    const tokens = Array.from({ length: Math.ceil(viewers / PER_TOKEN) }, (_, n) =>
      newToken(folder, 'viewer', `v${n}`),
    );
    const tokenOf = (index: number): string => tokens[index % tokens.length] ?? '';
    for (const view of await opened(url, Math.min(WARM_UP, viewers), tokenOf)) view.destroy();
    const emptyMb = await restingMb(server.pid);
    const views = await opened(url, viewers, tokenOf);
    const fullMb = await restingMb(server.pid);
    for (const view of views) view.destroy();
    const kb = ((fullMb - emptyMb) * 1_024) / viewers;
    const detail = `${emptyMb.toFixed(0)} MB without, ${fullMb.toFixed(0)} MB with them`;
    return [rowAtMost(`${viewers} idle viewers: RSS of proctor serve per viewer, kB`, kb, KB_MAX, detail)];
  } finally {
    for (const child of children) child.kill('SIGINT');
    await Promise.all(children.map(gone));
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Resolves when a process has ended. */
async function gone(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

/** Starts a script that prints nothing and does not end. Returns the id of its run once the server shows it. */
async function idleRun(cwd: string, { url, headers }: Started, children: ChildProcess[]): Promise<string> {
  writeFileSync(path.join(cwd, 'idle.sh'), 'sleep 600\n');
  const args = [
    path.resolve('dist', 'proctor.js'),
    'run',
    'script',
    'idle.sh',
    '--sandbox',
    'none',
    '--timeout',
    '600s',
  ];
  children.push(spawn(process.execPath, args, { cwd, stdio: 'ignore' }));
  const runs = path.join(cwd, '.proctor', 'runs', 'script');
  while (!existsSync(runs) || readdirSync(runs).length === 0) await wait(20);
  const [id = ''] = readdirSync(runs);
  while (!(await fetch(`${url}/v1/runs/${id}`, { headers })).ok) await wait(20);
  return id;
}

/** Opens views, and waits until each has got the first bytes. */
function opened(url: string, count: number, tokenOf: (index: number) => string): Promise<ClientRequest[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => openedView(url, tokenOf(index))));
}

function openedView(url: string, token: string): Promise<ClientRequest> {
  return new Promise((resolve, reject) => {
    const view = get(url, { agent: false, headers: { authorization: `Bearer ${token}` } }, response => {
      if (response.statusCode !== 200) reject(new Error(`The server answered ${response.statusCode}.`));
      // A view that this process closes ends with an error.
      response.on('error', () => undefined);
      response.once('data', () => resolve(view));
    });
    view.on('error', reject);
  });
}

async function restingMb(pid: number): Promise<number> {
  const samples: number[] = [];
  for (let sample = 0; sample < SAMPLES; sample++) {
    await wait(SAMPLE_MS);
    samples.push(rssMbOf(pid));
  }
  return median(samples);
}
