/** `npm run bench:verify`: the verifier against bare Node, as ratios within one run. */
import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { canonicalize } from '../src/base/canonical.ts';
import { systemClock } from '../src/base/clock.ts';
import { newRunnerId } from '../src/base/ids.ts';
import { runner } from '../src/contracts/runner/index.ts';
import type * as Verify from '../src/verify/index.ts';
import { median } from './median.ts';
import { printRows, type Row } from './rows.ts';

const root = process.cwd();
const proctor = path.join(root, 'dist', 'proctor.js');
const folder = mkdtempSync(path.join(tmpdir(), 'proctor-bench-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

const rows: Row[] = [
  await rate(),
  memory(),
  startUp('runner-verify on one record, CPU ÷ node -e 0', ['runner-verify', oneRecord()], 1.5),
  startUp('--version, CPU ÷ node -e 0', ['--version'], 1.3),
];

printRows('verify', rows);

/** Compares the rate for 20,000 records with the rate of only parsing, writing and hashing the same bytes. */
async function rate(): Promise<Row> {
  const count = 20_000;
  const file = path.join(folder, 'records.ndjson');
  writeFileSync(file, Array.from({ length: count }, record).join('\n'));
  const { verifyInBatches } = (await import(path.join(root, 'dist', 'verify.js'))) as typeof Verify;

  const bare = (): number => {
    let records = 0;
    for (const line of readFileSync(file, 'utf8').split('\n')) {
      hash('sha256', JSON.stringify(JSON.parse(line)), 'hex');
      records++;
    }
    return records;
  };
  const ours = async (): Promise<number> => {
    let records = 0;
    for await (const verdicts of verifyInBatches([file])) {
      for (const { within, outcome } of verdicts) if (within !== undefined && outcome === 'valid') records++;
    }
    return records;
  };

  const times = { bare: [] as number[], ours: [] as number[] };
  for (let round = 0; round < 9; round++) {
    for (const [name, run] of [
      ['bare', bare],
      ['ours', ours],
    ] as const) {
      const start = process.cpuUsage();
      const records = await run();
      const { user, system } = process.cpuUsage(start);
      if (records !== count) throw new Error(`${name} saw ${records} records`);
      times[name].push((user + system) / 1000);
    }
  }
  const [bareMs, oursMs] = [median(times.bare), median(times.ours)];
  return {
    what: '20,000 runner records as NDJSON, rate ÷ bare parse + stringify + SHA-256',
    ratio: bareMs / oursMs,
    bound: '≥ 0.30',
    holds: bareMs / oursMs >= 0.3,
    detail: `CPU per record: ${((oursMs / count) * 1000).toFixed(1)} µs, bare ${((bareMs / count) * 1000).toFixed(1)} µs, median of 9`,
  };
}

/** Compares the memory of the command line for 200 MB of records with that of an empty Node process. */
function memory(): Row {
  const file = path.join(folder, 'large.ndjson');
  const fd = openSync(file, 'w');
  let bytes = 0;
  while (bytes < 200_000_000) bytes += writeSync(fd, `${Array.from({ length: 500 }, record).join('\n')}\n`);
  closeSync(fd);
  const bareMb = median([1, 2, 3].map(() => peakMb(['-e', '0'])));
  const oursMb = median([1, 2, 3].map(() => peakMb([proctor, 'verify', file])));
  rmSync(file);
  return {
    what: '200 MB of NDJSON, peak RSS in MB over node -e 0',
    ratio: oursMb - bareMb,
    bound: '≤ 60',
    holds: oursMb - bareMb <= 60,
    detail: `${oursMb.toFixed(0)} MB, bare ${bareMb.toFixed(0)} MB, ${(bytes / 1e6).toFixed(0)} MB read, median of 3`,
  };
}

function peakMb(args: readonly string[]): number {
  const preload = `data:text/javascript,process.on('exit',()=>process.stderr.write('peak '+process.resourceUsage().maxRSS+' '))`;
  const { status, stderr } = spawnSync(process.execPath, ['--import', preload, ...args], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`exit ${status}: ${stderr}`);
  return Number(/peak (\d+)/.exec(stderr)?.[1]) / 1024;
}

/** Compares the total CPU time of a command with that of an empty Node process. */
function startUp(what: string, args: readonly string[], bound: number): Row {
  const times = { bare: [] as number[], ours: [] as number[] };
  for (let round = 0; round < 31; round++) {
    times.bare.push(cpuMs(['-e', '0']));
    times.ours.push(cpuMs([proctor, ...args]));
  }
  const [bareMs, oursMs] = [median(times.bare), median(times.ours)];
  return {
    what,
    ratio: oursMs / bareMs,
    bound: `≤ ${bound}`,
    holds: oursMs / bareMs <= bound,
    detail: `${oursMs.toFixed(0)} ms, bare ${bareMs.toFixed(0)} ms, median of 31`,
  };
}

function cpuMs(args: readonly string[]): number {
  const script = 'TIMEFORMAT="%U %S"; time "$@" >/dev/null 2>/dev/null';
  const { stderr } = spawnSync('bash', ['-c', script, 'bash', process.execPath, ...args], { encoding: 'utf8' });
  const [user = 0, system = 0] = stderr.trim().split(' ').map(Number);
  return (user + system) * 1000;
}

function record(): string {
  return canonicalize({ ...(runner.example as object), runner_id: newRunnerId(systemClock) });
}

function oneRecord(): string {
  const file = path.join(folder, 'runner.json');
  writeFileSync(file, record());
  return file;
}
