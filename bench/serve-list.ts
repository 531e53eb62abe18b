/**
 * The list of runs, as part of `npm run bench:serve`: the CPU time of the first page of 10,000 runs, and the rate of
 * the list over a bare Hono route that sends the same bytes.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Pool } from 'undici';
import { closeLauncher } from '../src/verbs/launcher.ts';
import { runScript } from '../src/verbs/run-script.ts';
import { median } from './median.ts';
import type { Row } from './rows.ts';
import { cpuMsOf, FILES_IN, firstLine, type Started, startServer } from './served.ts';

const RUNS = 10_000;
const REQUESTS = 6_000;
const CONNECTIONS = 32;
const ROUNDS = 5;
const CPU_MS_MAX = 150;
const RATE_MIN = 0.5;

export async function listRows(): Promise<Row[]> {
  const cwd = mkdtempSync(path.join(FILES_IN, 'proctor-bench-'));
  const children: ChildProcess[] = [];
  try {
    await fillWithRuns(cwd);
    const server = await startServer(cwd, children);
    const firstFromMs = cpuMsOf(server.pid);
    const first = await (await fetch(`${server.url}/v1/runs`, { headers: server.headers })).text();
    const firstMs = cpuMsOf(server.pid) - firstFromMs;
    const { total } = JSON.parse(first) as { total: number };
    if (total !== RUNS) throw new Error(`The list has ${total} runs.`);
    const bare = await startBare(cwd, first, children);
    const rates: number[] = [];
    const cpus: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const bareLoad = await load(bare.pid, bare.url, '/', {});
      const listLoad = await load(server.pid, server.url, '/v1/runs', server.headers);
      rates.push(listLoad.perS / bareLoad.perS);
      cpus.push(listLoad.cpuMs / bareLoad.cpuMs);
    }
    const rate = median(rates);
    return [
      {
        what: `first page of ${RUNS} runs, CPU ms / ${CPU_MS_MAX}`,
        ratio: firstMs / CPU_MS_MAX,
        bound: '<= 1',
        holds: firstMs <= CPU_MS_MAX,
        detail: `${firstMs} ms, ${first.length} bytes`,
      },
      {
        what: 'list of runs, requests per second / bare Hono route',
        ratio: rate,
        bound: `>= ${RATE_MIN}`,
        holds: rate >= RATE_MIN,
        detail: `CPU per request ${median(cpus).toFixed(2)} x`,
      },
    ];
  } finally {
    for (const child of children) child.kill();
    rmSync(cwd, { recursive: true, force: true });
  }
}

/** Copies of one real run, each under a name of its own. */
async function fillWithRuns(cwd: string): Promise<void> {
  const script = path.join(cwd, 'nothing.sh');
  writeFileSync(
    script,
    `echo '{"contract_version":1,"status":"succeeded","html_output":"","error_summary":null,"artifacts":[]}' > result.json\n`,
  );
  const { folder } = await runScript({ script, cwd });
  await closeLauncher();
  for (let index = 1; index < RUNS; index++) {
    const second = String(index % 86_400).padStart(5, '0');
    const name = `script_20260101_0${second}_${index.toString(16).padStart(12, '0')}`;
    cpSync(folder, path.join(path.dirname(folder), name), { recursive: true });
  }
}

async function startBare(cwd: string, bytes: string, children: ChildProcess[]): Promise<Started> {
  const file = path.join(cwd, 'bytes.json');
  writeFileSync(file, bytes);
  const program = `
    import { readFileSync } from 'node:fs';
    import { serve } from '@hono/node-server';
    import { Hono } from 'hono';
    const text = readFileSync(process.argv[1], 'utf8');
    const app = new Hono();
    app.get('/', context => context.body(text, 200, { 'content-type': 'application/json' }));
    serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => console.log('http://127.0.0.1:' + port));`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program, file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  return { pid: child.pid as number, url: await firstLine(child), headers: {} };
}

async function load(
  pid: number,
  url: string,
  at: string,
  headers: Readonly<Record<string, string>>,
): Promise<{ perS: number; cpuMs: number }> {
  const pool = new Pool(url, { connections: CONNECTIONS });
  let left = REQUESTS;
  const cpuFromMs = cpuMsOf(pid);
  const fromMs = performance.now();
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      while (left-- > 0) {
        const { statusCode, body } = await pool.request({ path: at, method: 'GET', headers });
        await body.dump();
        if (statusCode !== 200) throw new Error(`The server answered ${statusCode}.`);
      }
    }),
  );
  const perS = REQUESTS / ((performance.now() - fromMs) / 1_000);
  await pool.close();
  return { perS, cpuMs: cpuMsOf(pid) - cpuFromMs };
}
