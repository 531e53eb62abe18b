/**
 * Runs of a published script, as part of `npm run bench:serve`: the rate through the API over the rate of the same runs
 * through the library. Both use the same number of slots, and take turns.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { closeLauncher } from '../src/verbs/launcher.ts';
import { publishScript } from '../src/verbs/publish/publish.ts';
import { runPublished } from '../src/verbs/publish/run-published.ts';
import { median } from './median.ts';
import type { Row } from './rows.ts';
import { FILES_IN, firstLine, type Started, startServer } from './served.ts';

const RUNS = 1_000;
const ROUNDS = 4;
const PER_ROUND = RUNS / ROUNDS;
const RATE_MIN = 0.8;
/** As many as the server has. */
const SLOTS = Math.max(4, 2 * availableParallelism());
/** A client keeps this many orders open, so that the server never lacks one. */
const OPEN_MAX = 50;
const LOOK_MS = 50;

/** Measures both. Server and library are processes of their own. */
export async function scriptRows(program: string): Promise<Row[]> {
  const cwd = mkdtempSync(path.join(FILES_IN, 'proctor-bench-'));
  const children: ChildProcess[] = [];
  try {
    await publishNothing(cwd);
    const server = await startServer(cwd, children);
    const ratios: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const library = async () => throughLibrary(program, cwd);
      const api = async () => throughApi(server);
      // The machine may become slower or faster, so neither is always first.
      const [first, second] = round % 2 === 0 ? [library, api] : [api, library];
      const rates = [await first(), await second()] as const;
      const [libraryMs, apiMs] = round % 2 === 0 ? rates : [rates[1], rates[0]];
      ratios.push(libraryMs / apiMs);
    }
    const ratio = median(ratios);
    return [
      {
        what: `${RUNS} script runs through the API, rate ÷ library`,
        ratio,
        bound: `≥ ${RATE_MIN}`,
        holds: ratio >= RATE_MIN,
        detail: ratios.map(one => one.toFixed(2)).join(', '),
      },
    ];
  } finally {
    for (const child of children) child.kill();
    rmSync(cwd, { recursive: true, force: true });
  }
}

async function publishNothing(cwd: string): Promise<void> {
  const folder = path.join(cwd, 'nothing');
  mkdirSync(folder);
  writeFileSync(
    path.join(folder, 'script.yaml'),
    'schema_version: published-script.v1\nname: nothing\nversion: 1.0.0\ntitle: Nothing\ndescription: Does nothing.\nscript: nothing.sh\n',
  );
  writeFileSync(
    path.join(folder, 'nothing.sh'),
    `echo '{"contract_version":1,"status":"succeeded","html_output":"","error_summary":null,"artifacts":[]}' > result.json\n`,
  );
  await publishScript(folder, { cwd });
}

/** How long a round takes in a process that uses the library, in milliseconds. */
async function throughLibrary(program: string, cwd: string): Promise<number> {
  const child = spawn(process.execPath, [program, 'scripts', cwd], { stdio: ['ignore', 'pipe', 'inherit'] });
  return Number(await firstLine(child));
}

/** Plays the process that uses the library. */
export async function playScripts(cwd: string): Promise<void> {
  // The first run loads code and probes the sandbox, as the server's first run does.
  await runPublished({ name: 'nothing', cwd });
  const fromMs = performance.now();
  let left = PER_ROUND;
  const slot = async (): Promise<void> => {
    while (left-- > 0) {
      const { status } = await runPublished({ name: 'nothing', cwd });
      if (status !== 'succeeded') throw new Error(`A run ended as ${status}.`);
    }
  };
  await Promise.all(Array.from({ length: SLOTS }, slot));
  console.log(performance.now() - fromMs);
  await closeLauncher();
}

async function throughApi(server: Started): Promise<number> {
  await untilEnded(server, await order(server));
  const fromMs = performance.now();
  const open: string[] = [];
  for (let ordered = 0; ordered < PER_ROUND || open.length > 0; ) {
    while (ordered < PER_ROUND && open.length < OPEN_MAX) {
      open.push(await order(server));
      ordered++;
    }
    await untilEnded(server, open.shift() ?? '');
  }
  return performance.now() - fromMs;
}

async function order({ url, headers }: Started): Promise<string> {
  const response = await fetch(`${url}/v1/scripts/nothing/runs`, { method: 'POST', headers, body: new FormData() });
  const text = await response.text();
  if (response.status !== 202) throw new Error(`The server answered ${response.status}: ${text}`);
  return (JSON.parse(text) as { run_id: string }).run_id;
}

/** Looks at a run, as the page of its user does. */
async function untilEnded({ url, headers }: Started, id: string): Promise<void> {
  for (;;) {
    const response = await fetch(`${url}/v1/script-runs/${id}`, { headers });
    const { state } = (await response.json()) as { state: string };
    if (state === 'succeeded') return;
    if (state !== 'waiting' && state !== 'running') throw new Error(`A run ended as ${state}.`);
    await wait(LOOK_MS);
  }
}
