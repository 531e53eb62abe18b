/** `npm run bench:sandbox`: the cost of limits and evidence over a bare spawn and a bare bubblewrap. Uses one process. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { writeAtomic } from '../src/base/atomic.ts';
import { systemClock } from '../src/base/clock.ts';
import { ingestOutput } from '../src/evidence/ingest/output.ts';
import { openLauncher } from '../src/execute/launcher/launch.ts';
import { makeStage, removeStage } from '../src/execute/host/workspace.ts';
import { ends } from '../src/policy/caps.ts';
import { executeScript } from '../src/run/script/script.ts';
import { interleaved } from './interleaved.ts';

const ROUNDS = Number(process.argv[2] ?? 60);
// On the project's disk, like a user's runs.
const folder = mkdtempSync(path.join(process.cwd(), 'node_modules', '.bench-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const home = path.join(folder, '.proctor');
const script = path.join(folder, 'true.sh');
writeFileSync(
  script,
  `echo '{"contract_version":1,"status":"succeeded","html_output":"","error_summary":null,"artifacts":[]}' > result.json\n`,
);

const isRoot = process.getuid?.() === 0;
const user = isRoot ? { uid: 65_534, gid: 65_534 } : {};
const launcher = openLauncher();

/** The same namespaces as a strict run, and nothing else. */
const BWRAP = [
  '--unshare-all',
  '--die-with-parent',
  '--ro-bind',
  '/',
  '/',
  '--dev',
  '/dev',
  '--proc',
  '/proc',
  '--tmpfs',
  '/tmp',
  '--cap-drop',
  'ALL',
];
const PROGRAMS: Record<string, readonly string[]> = {
  '/bin/true': ['/bin/true'],
  'python3 -c 0': ['/usr/bin/python3', '-c', '0'],
  'node -e 0': [process.execPath, '-e', '0'],
};

const limits = {
  timeoutMs: 60_000,
  memoryBytes: 1024 ** 3,
  pids: 256,
  openFiles: 1_024,
  workBytes: 64 * 1024 ** 2,
  workEntries: 2_000,
  keep: { stdout: ends(200_000), stderr: ends(200_000) },
  graceMs: 2_000,
};

let count = 0;
async function launch(argv: readonly string[], more: Partial<typeof limits> = {}) {
  const id = `bench-${process.pid}-${++count}`;
  const stage = makeStage(id);
  const prepared = await launcher.open({
    id,
    backend: 'process',
    argv,
    env: { PATH: '/usr/bin:/bin' },
    stage,
    staged: ['input'],
    network: 'blocked',
    limits: { ...limits, ...more },
    secrets: [],
    live: false,
  });
  const capture = await prepared.start();
  await prepared.close();
  removeStage(stage);
  return capture;
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('close', code => (code === 0 ? resolve() : reject(new Error(`exit ${code}`))));
    child.once('error', reject);
  });
}

/** The time from the end of each run until its folder is sealed. */
const evidenceMs: number[] = [];

const strict = async (): Promise<void> => {
  const { reading, plan, completedAtMs } = await executeScript(
    { script, bounds: { isolation: isRoot ? 'strict' : 'standard' } },
    { launcher, home, signer: undefined },
  );
  if (reading.status !== 'succeeded') throw new Error(`${reading.reason}`);
  if (isRoot && plan.runner.sandbox.isolation_level !== 'strict') throw new Error('not strict');
  evidenceMs.push(systemClock.now() - completedAtMs);
};

async function percentiles(
  ways: Record<string, () => Promise<unknown>>,
): Promise<Record<string, { p50: number; p95: number }>> {
  const times = await interleaved(ways, ROUNDS);
  return Object.fromEntries(
    [...times].map(([name, all]) => {
      const sorted = all.sort((a, b) => a - b);
      return [name, { p50: at(sorted, 0.5), p95: at(sorted, 0.95) }];
    }),
  );
}

function at(sorted: readonly number[], share: number): number {
  return Number((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(2));
}

const ways: Record<string, () => Promise<unknown>> = {};
for (const [name, [program = '', ...args]] of Object.entries(PROGRAMS)) {
  ways[`bare spawn ${name}`] = () => ended(spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] }));
  ways[`bare bwrap ${name}`] = () =>
    ended(
      spawn('/usr/bin/bwrap', [...BWRAP, program, ...args], { ...user, stdio: ['ignore', 'pipe', 'pipe'], cwd: '/' }),
    );
  ways[`sandbox ${name}`] = () => launch([program, ...args]);
}
ways['complete strict run'] = strict;
await strict();
evidenceMs.length = 0;
const times = await percentiles(ways);

for (const [name, { p50, p95 }] of Object.entries(times)) {
  console.log(`${name.padEnd(28)} p50 ${p50.toFixed(2).padStart(8)} ms   p95 ${p95.toFixed(2).padStart(8)} ms`);
}
const bare = times['bare bwrap /bin/true']?.p50 ?? 1;
const whole = times['complete strict run']?.p50 ?? 0;
const launched = times['sandbox /bin/true']?.p50 ?? 0;
const ratio = Number((whole / bare).toFixed(2));
console.log(`\ncomplete strict run / bare bwrap /bin/true   ${ratio}  (limit 4)`);
const evidence = at(
  evidenceMs.sort((a, b) => a - b),
  0.5,
);
const parts = { launch: launched, evidence, rest: whole - launched - evidence };
console.log(
  `parts: ${Object.entries(parts)
    .map(([name, ms]) => `${name} ${ms.toFixed(2)} ms (${(ms / bare).toFixed(2)})`)
    .join(', ')}`,
);

const began = performance.now();
const many = 40;
let started = 0;
await Promise.all(
  Array.from({ length: 4 }, async () => {
    while (started++ < many) await strict();
  }),
);
const perSecond = Number(((many * 1000) / (performance.now() - began)).toFixed(1));
console.log(`complete strict runs per second, 4 at once   ${perSecond}`);

const ingestion = await measureIngestion();
const stream = await measureStream();

writeAtomic(
  path.join('bench', 'results', 'sandbox.json'),
  `${JSON.stringify({ node: process.version, cores: availableParallelism(), rounds: ROUNDS, ratio, times, perSecond, ingestion, stream }, undefined, 2)}\n`,
);
await launcher.close();
if (ratio > 4) process.exitCode = 1;

/** Compares files and bytes per second with `cp -r` and `sha256sum` of the same tree. */
async function measureIngestion() {
  const answers: Record<string, unknown> = {};
  for (const [name, files, bytes] of [
    ['small', 5_000, 500],
    ['large', 20, 16 * 1024 ** 2],
  ] as const) {
    const work = path.join(folder, `work-${name}`);
    mkdirSync(path.join(work, 'output'), { recursive: true });
    for (let index = 0; index < files; index++) {
      writeFileSync(path.join(work, 'output', `${index}.bin`), Buffer.alloc(bytes, index % 251));
    }
    const ours: number[] = [];
    const theirs: number[] = [];
    for (let round = 0; round < 3; round++) {
      const target = path.join(folder, `stored-${name}-${round}`);
      ours.push(
        await timed(() =>
          ingestOutput(work, target, { filesMax: 10_000, bytesMax: 1024 ** 3, fileBytesMax: 1024 ** 3 }),
        ),
      );
      rmSync(target, { recursive: true });
      theirs.push(
        await timed(async () => {
          const done = spawnSync('sh', [
            '-c',
            `cp -r ${work}/output ${target} && cd ${target} && find . -type f -print0 | xargs -0 sha256sum > ../sums && sync -f ${target}`,
          ]);
          if (done.status !== 0) throw new Error(String(done.stderr));
        }),
      );
      rmSync(target, { recursive: true });
    }
    const ms = Math.min(...ours);
    const ratio = Number((ms / Math.min(...theirs)).toFixed(2));
    const speed = {
      filesPerSecond: Math.round((files * 1000) / ms),
      megabytesPerSecond: Math.round((files * bytes) / 1e3 / ms),
      ratio,
    };
    answers[name] = speed;
    console.log(
      `ingestion, ${name} files: ${speed.filesPerSecond} files/s, ${speed.megabytesPerSecond} MB/s, ${ratio} of cp -r, sha256sum and sync`,
    );
  }
  return answers;
}

/** Measures the launcher's peak memory during 10 GB of output. */
async function measureStream() {
  const bytes = 10_000_000_000;
  let peakKb = 0;
  const look = setInterval(() => {
    const [, kb = '0'] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${launcher.pid}/status`, 'utf8')) ?? [];
    peakKb = Math.max(peakKb, Number(kb));
  }, 50);
  const before = performance.now();
  const { stdout } = await launch(['/bin/sh', '-c', `head -c ${bytes} /dev/zero`], { timeoutMs: 600_000 });
  clearInterval(look);
  const seconds = (performance.now() - before) / 1000;
  if (stdout.bytesTotal !== bytes) throw new Error(`received only ${stdout.bytesTotal} bytes`);
  const answer = {
    gigabytes: bytes / 1e9,
    gigabytesPerSecond: Number((bytes / 1e9 / seconds).toFixed(2)),
    launcherRssMb: Math.round(peakKb / 1024),
  };
  console.log(
    `10 GB of stdout: ${answer.gigabytesPerSecond} GB/s, hashed in full, launcher peak memory ${answer.launcherRssMb} MB`,
  );
  return answer;
}

async function timed(act: () => unknown): Promise<number> {
  const from = performance.now();
  await act();
  return performance.now() - from;
}
