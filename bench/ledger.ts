/**
 * Part of `npm run bench:intents`: eight processes append to one ledger. Counts lost and duplicate lines and lines per
 * second. For comparison, the same processes append similar lines with fsync but without a lock or chain, to one shared
 * file and to one file each.
 */
import { spawn } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { writeAtomic } from '../src/base/atomic.ts';
import { bytesHash } from '../src/base/hash.ts';
import { appendLines, type LedgerEntry, LEDGER } from '../src/evidence/ledger/ledger.ts';
import { takeLock } from '../src/execute/host/locks.ts';

const PROCESSES = 8;
const LINES = 200;
const [role, ...rest] = process.argv.slice(2);

const ROLES: Readonly<Record<string, (home: string, name: string) => Promise<void>>> = {
  ledger: (home, name) => each(name, async entry => void (await appendLines(home, [entry], takeLock))),
  shared: (home, name) => each(name, async entry => bare(path.join(home, 'shared'), entry)),
  own: (home, name) => each(name, async entry => bare(path.join(home, name), entry)),
};

/** Waits until all processes have started, so that their startup is not measured, then writes. */
async function each(name: string, write: (entry: LedgerEntry) => Promise<void>): Promise<void> {
  process.stdout.write('ready\n');
  await new Promise(resolve => process.stdin.once('data', resolve));
  for (let number = 0; number < LINES; number++) {
    const run_id = `${name}-${number}`;
    const sealed_at = new Date().toISOString();
    await write({ run_id, kind: 'script', sealed_at, seal_sha256: bytesHash(run_id), intent: null });
  }
  process.stdin.destroy();
}

function bare(file: string, entry: LedgerEntry): void {
  appendFileSync(file, `${JSON.stringify({ ...entry, sequence: 1, previous_sha256: entry.seal_sha256 })}\n`, {
    flush: true,
  });
}

/** Returns the lines per second of all processes together. */
async function rateOf(role: string, home: string): Promise<number> {
  const children = Array.from({ length: PROCESSES }, (_, index) =>
    spawn(process.execPath, [import.meta.filename, role, home, `w${index}`], {
      stdio: ['pipe', 'pipe', 'inherit'],
    }),
  );
  await Promise.all(children.map(({ stdout }) => new Promise(resolve => stdout.once('data', resolve))));
  const startedMs = performance.now();
  for (const { stdin } of children) stdin.write('go\n');
  await Promise.all(children.map(child => new Promise(resolve => child.once('exit', resolve))));
  return (PROCESSES * LINES * 1000) / (performance.now() - startedMs);
}

async function main(): Promise<void> {
  const folder = mkdtempSync(path.join(process.cwd(), 'node_modules', '.bench-'));
  try {
    const home = path.join(folder, '.proctor');
    mkdirSync(home);
    const rates = {
      ledger: await rateOf('ledger', home),
      shared: await rateOf('shared', home),
      own: await rateOf('own', home),
    };
    const lines = readFileSync(path.join(home, LEDGER), 'utf8').split('\n').slice(0, -1);
    const ids = new Set(lines.map(line => (JSON.parse(line) as LedgerEntry).run_id));
    const told = {
      processes: PROCESSES,
      lines_each: LINES,
      lost: PROCESSES * LINES - ids.size,
      doubled: lines.length - ids.size,
      ledger_per_second: Math.round(rates.ledger),
      bare_shared_per_second: Math.round(rates.shared),
      bare_own_per_second: Math.round(rates.own),
      ledger_to_bare_shared: Number((rates.ledger / rates.shared).toFixed(2)),
    };
    const text = `${JSON.stringify(told, null, 2)}\n`;
    process.stdout.write(text);
    writeAtomic(path.join(process.cwd(), 'bench', 'results', 'ledger.json'), text);
    if (told.lost + told.doubled > 0) process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const act = role === undefined ? undefined : ROLES[role];
await (act ? act(rest[0] ?? '', rest[1] ?? '') : main());
