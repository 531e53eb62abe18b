/**
 * `npm run bench:suite`: the cost of a suite with evidence over a bare loop against the same agent, and the cost of a
 * comparison over reading the same files. Each measurement runs in a separate process, one at a time.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { Pool } from 'undici';
import { writeAtomic } from '../src/base/atomic.ts';
import { stayLean } from '../src/cli/options/v8-heap.ts';
import { compareRuns } from '../src/verbs/compare.ts';
import { layOutCases } from '../src/run/suite/layout.ts';
import { suitePlan } from '../src/run/suite/plan.ts';
import { protocolTarget } from '../src/run/suite/protocol-target.ts';
import { DEFAULT_SETTINGS } from '../src/run/suite/settings.ts';
import type { SuiteTarget } from '../src/contracts/suite/index.ts';
import { replyReader } from '../src/targets/reader.ts';
import { layOutSuite, placeFor, executeSuite } from '../src/run/suite/suite.ts';
import { median } from './median.ts';

const CONCURRENCY = 64;
const LATENCY_MS = 10;
const [role, ...rest] = process.argv.slice(2);

interface Figures {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly rssMb: number;
}

const ROLES: Readonly<Record<string, (...args: string[]) => Promise<void> | void>> = {
  agent,
  bare: (url, count, folder) => measured(() => bareLoop(url, Number(count), folder || undefined)),
  proctor: (url, cases, out, side) => measured(() => suiteRun(url, cases, out, side)),
  read: (...folders) => measured(() => readAll(folders)),
  compare: (cwd, baseline, candidate) =>
    measured(async () => {
      stayLean();
      await compareRuns({ baseline, candidate, cwd, rejudge: true });
    }),
};

/** An agent that answers every case with about 1 kB after LATENCY_MS. */
function agent(): void {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { case_id, version, input } = JSON.parse(Buffer.concat(chunks).toString()) as {
        case_id: string;
        version: string;
        input: { user: string };
      };
      const text = JSON.stringify({
        case_id,
        version,
        workflow_id: 'echo',
        proposed_actions: [],
        events: [
          { type: 'tool_call', ts: 1, call_id: 'c1', tool: 'orders.get', args: { id: case_id } },
          { type: 'tool_result', ts: 2, call_id: 'c1', status: 'ok', latency_ms: 3, payload_summary: 'x'.repeat(200) },
        ],
        final_output: {
          content_type: 'text',
          content: `You said: ${input.user} ${'y'.repeat(300)}`,
        },
      });
      setTimeout(() => response.writeHead(200, { 'content-type': 'application/json' }).end(text), LATENCY_MS);
    });
  });
  server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
}

/** The minimum work: sends the request and, with `folder`, writes the answer with a temporary file and a rename. */
async function bareLoop(url: string, count: number, folder: string | undefined): Promise<void> {
  const pool = new Pool(url, { connections: CONCURRENCY, pipelining: 1 });
  if (folder !== undefined) mkdirSync(folder, { recursive: true });
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) {
      const id = `case-${next++}`;
      const body = JSON.stringify({ case_id: id, version: 'new', input: { user: `Question ${id}` } });
      const headers = { 'content-type': 'application/json' };
      const answer = await pool.request({ path: '/run-case', method: 'POST', headers, body });
      const text = await answer.body.text();
      if (folder === undefined) continue;
      // As large as the artifact of a case.
      writeFileSync(path.join(folder, `${id}.json.tmp`), text.padEnd(ARTIFACT_BYTES));
      renameSync(path.join(folder, `${id}.json.tmp`), path.join(folder, `${id}.json`));
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  await pool.close();
}

const ARTIFACT_BYTES = 1_050;

const TARGET = (url: string): SuiteTarget => ({
  kind: 'http',
  url,
  header_names: [],
  redirects: false,
  replies: 'lenient',
});

async function suiteRun(url: string, cases: string, out: string, side: string): Promise<void> {
  stayLean();
  const settings = { ...DEFAULT_SETTINGS, concurrency: CONCURRENCY };
  const version = side as 'baseline' | 'new';
  const place = placeFor(out, side, 'bench');
  layOutSuite({
    place,
    write: folder => layOutCases(cases, null, folder),
    planOf: written =>
      suitePlan(
        {
          group: 'bench',
          repetitions: 1,
          version,
          target: TARGET(url),
          only: null,
          settings,
          secretNames: [],
          casesPath: path.basename(cases),
          outDir: 'runs',
          repository: null,
          headers: [],
          script: null,
          bounds: {},
          effective: undefined,
        },
        1,
        written,
      ),
  });
  const target = protocolTarget({
    url,
    side: version,
    runId: 'bench',
    headers: {},
    secrets: [],
    redirects: false,
    read: replyReader(TARGET(url), settings.bodyBytesMax),
    settings,
  });
  const { ok, total } = await executeSuite(place, target, { signer: undefined, signal: new AbortController().signal });
  if (ok !== total) throw new Error(`${total - ok} cases got no answer`);
}

function readAll(folders: readonly string[]): void {
  for (const folder of folders) {
    for (const name of readdirSync(folder)) {
      if (name.endsWith('.json')) JSON.parse(readFileSync(path.join(folder, name), 'utf8'));
    }
  }
}

async function measured(work: () => Promise<void> | void): Promise<void> {
  const started = performance.now();
  const cpu = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(cpu);
  const wallMs = performance.now() - started;
  console.log(JSON.stringify({ wallMs, cpuMs: (user + system) / 1000, rssMb: process.resourceUsage().maxRSS / 1024 }));
  process.exit();
}

async function main(count: number): Promise<void> {
  const folder = mkdtempSync(path.join(process.cwd(), 'node_modules', '.bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const { url, child } = await startAgent();
  try {
    const result = await figures(folder, url, count);
    print(result);
    writeAtomic(path.join(process.cwd(), 'bench', 'results', 'suite.json'), `${JSON.stringify(result, null, 2)}\n`);
  } finally {
    child.kill();
  }
}

type Result = Awaited<ReturnType<typeof figures>>;

async function figures(folder: string, url: string, count: number) {
  const small = casesFile(folder, count);
  const large = casesFile(folder, 10 * count);
  const ratios: { rate: number; cpu: number; rateWithoutFiles: number }[] = [];
  let run: Figures | undefined;
  for (let round = 0; round < ROUNDS; round++) {
    const alone = one('bare', url, String(count), '');
    const withFiles = one('bare', url, String(count), path.join(folder, `bare-${round}`));
    run = one('proctor', url, small, path.join(folder, `runs-${round}`), 'baseline');
    ratios.push({
      rate: withFiles.wallMs / run.wallMs,
      cpu: run.cpuMs / withFiles.cpuMs,
      rateWithoutFiles: alone.wallMs / run.wallMs,
    });
  }
  one('proctor', url, small, path.join(folder, 'runs-0'), 'new');
  const hundred = one('proctor', url, large, path.join(folder, 'many'), 'baseline');
  one('proctor', url, large, path.join(folder, 'many'), 'new');
  const compared = pairFigures(folder, path.join(folder, 'runs-0'));
  const many = pairFigures(folder, path.join(folder, 'many'));
  return {
    cases: count,
    concurrency: CONCURRENCY,
    latency_ms: LATENCY_MS,
    rate_of_bare_with_files: median(ratios.map(({ rate }) => rate)),
    cpu_of_bare_with_files: median(ratios.map(({ cpu }) => cpu)),
    rate_of_bare_without_files: median(ratios.map(({ rateWithoutFiles }) => rateWithoutFiles)),
    cases_per_second: (count / (run as Figures).wallMs) * 1000,
    rss_mb: (run as Figures).rssMb,
    rss_mb_of_ten_times: hundred.rssMb,
    compare_and_report_of_reading: compared.ratio,
    compare_and_report_rss_mb: compared.rssMb,
    ten_times_the_pairs: {
      of_reading: many.ratio,
      time_per_pair_of_the_smaller: many.wallMs / 10 / compared.wallMs,
      rss_mb: many.rssMb,
    },
    promptfoo: promptfooVersion(),
  };
}

const ROUNDS = 3;

function pairFigures(folder: string, out: string): Figures & { ratio: number } {
  const sides = ['baseline', 'new'].map(side => path.join(out, side, 'bench')) as [string, string];
  const read = one('read', ...sides);
  const compared = one('compare', folder, ...sides);
  return { ...compared, ratio: compared.wallMs / read.wallMs };
}

function casesFile(folder: string, count: number): string {
  const file = path.join(folder, `cases-${count}.jsonl`);
  const lines = Array.from({ length: count }, (_, index) => {
    const id = `case-${index}`;
    return JSON.stringify({
      id,
      title: `Case ${index}`,
      input: { user: `Question ${id}` },
      expected: { contains: 'Question' },
    });
  });
  writeFileSync(file, `${lines.join('\n')}\n`);
  return file;
}

function one(...args: string[]): Figures {
  const text = execFileSync(process.execPath, [import.meta.filename, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return JSON.parse(text.trim().split('\n').at(-1) ?? '') as Figures;
}

async function startAgent(): Promise<{ url: string; child: ChildProcess }> {
  const child = spawn(process.execPath, [import.meta.filename, 'agent'], { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: child.stdout })) return { url: line, child };
  throw new Error('the agent did not start');
}

function promptfooVersion(): string | null {
  try {
    return execFileSync('promptfoo', ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return null;
  }
}

function line(what: string, value: number, bound = ''): void {
  console.log(`${what.padEnd(62)} ${value.toFixed(2).padStart(8)}  ${bound}`);
}

function print(result: Result): void {
  line('rate / bare undici loop that writes the same files', result.rate_of_bare_with_files, '(limit: at least 0.6)');
  line('CPU / the same', result.cpu_of_bare_with_files, '(limit: at most 3)');
  line('rate / bare undici loop without files', result.rate_of_bare_without_files);
  line('cases per second', result.cases_per_second);
  line(`peak memory, ${result.cases} cases, MB`, result.rss_mb, '(limit: 200)');
  line(`peak memory, ${10 * result.cases} cases, MB`, result.rss_mb_of_ten_times, '(limit: 200, and flat)');
  line('compare and report / reading and parsing the same files', result.compare_and_report_of_reading, '(limit: 6)');
  line('compare and report: peak memory, MB', result.compare_and_report_rss_mb, '(limit: 400)');
  const { of_reading, time_per_pair_of_the_smaller, rss_mb } = result.ten_times_the_pairs;
  line('ten times the pairs: compare and report / reading', of_reading);
  line('ten times the pairs: time per pair / before', time_per_pair_of_the_smaller, '(linear: about 1)');
  line('ten times the pairs: peak memory, MB', rss_mb, '(limit: 400)');
  console.log(result.promptfoo === null ? 'promptfoo is not installed' : `promptfoo ${result.promptfoo}`);
}

if (role !== undefined && Object.hasOwn(ROLES, role)) await ROLES[role]?.(...rest);
else await main(Number(role ?? 10_000));
