import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { build } from 'esbuild';
import { onTestFinished } from 'vitest';
import { bytesHash } from '../../../src/base/hash.ts';
import type { LedgerLine } from '../../../src/contracts/ledger/index.ts';
import { appendLines, type LedgerEntry, LEDGER } from '../../../src/evidence/ledger/ledger.ts';
import { takeLock } from '../../../src/execute/host/locks.ts';
import { verify } from '../../../src/verify/index.ts';
import { temporaryFolder } from '../../support/support.ts';
import type { Task } from './ledger-writer.ts';
import { captureOf, finishRun, plan, succeeded } from '../script/script-world.ts';

export const entryOf = (run_id: string, atMs = 0): LedgerEntry => ({
  run_id,
  kind: 'script',
  sealed_at: new Date(Date.UTC(2026, 3, 3) + atMs).toISOString(),
  seal_sha256: bytesHash(run_id),
  intent: null,
});

export const append = (home: string, entries: readonly LedgerEntry[], search?: 'its end' | 'all of it') =>
  appendLines(home, entries, takeLock, search);

export function newHome(): string {
  const home = path.join(temporaryFolder(), '.proctor');
  mkdirSync(path.join(home, 'runs'), { recursive: true });
  return home;
}

export const ledgerIn = (home: string): string => path.join(home, LEDGER);
export const textIn = (home: string): string => readFileSync(ledgerIn(home), 'utf8');
export const linesIn = (home: string): LedgerLine[] =>
  textIn(home)
    .split('\n')
    .slice(0, -1)
    .map(line => JSON.parse(line) as LedgerLine);
export const idsIn = (home: string): string[] => linesIn(home).map(({ run_id }) => run_id);

export const runId = (number: number): string => `script_20260403_1015${String(number).padStart(2, '0')}_4f1c9a7be210`;

/** A home with this many sealed runs, each with its ledger line. */
export async function homeWithRuns(count: number): Promise<string> {
  const home = newHome();
  for (let number = 0; number < count; number++) await addRun(home, number);
  return home;
}

/** A sealed run, with or without its ledger line. */
export async function addRun(home: string, number: number, has: 'a line' | 'no line' = 'a line'): Promise<string> {
  const id = runId(number);
  const folder = path.join(home, 'runs', 'script', id);
  mkdirSync(folder, { recursive: true });
  const of = plan();
  const ledger = { enter: async (entry: LedgerEntry) => void (await append(home, [entry])) };
  await finishRun(
    folder,
    captureOf({ how: 'exited', code: 0 }),
    succeeded(),
    {
      ...of,
      request: { ...of.request, run_id: id },
      runner: { ...of.runner, runner_id: id.replace('script', 'runner') },
    },
    undefined,
    has === 'a line' ? ledger : undefined,
  );
  return folder;
}

/** `RULE place` for each finding of the verifier. Findings in a ledger include the line number. */
export async function brokenIn(input: string): Promise<string[]> {
  const broken: string[] = [];
  for await (const { violations, reason, input: of } of verify([input])) {
    const [line = ''] = /(?<=ndjson):\d+$/.exec(of) ?? [];
    for (const { rule_id, path: at } of violations) broken.push([rule_id, line, at].filter(Boolean).join(' '));
    if (reason) broken.push(`${reason.code} ${line}`.trim());
  }
  return broken;
}

/** The bundled writer. Building it takes a moment, and tests start it many times. */
export async function writer(): Promise<(home: string, name: string, count: number) => Writing> {
  const folder = mkdtempSync(path.join(tmpdir(), 'proctor-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const outfile = path.join(folder, 'writer.mjs');
  const entry = path.join(import.meta.dirname, 'ledger-writer.ts');
  await build({ entryPoints: [entry], outfile, bundle: true, format: 'esm', platform: 'node' });
  const start = (task: Task): Writing => new Writing(spawn(process.execPath, [outfile, JSON.stringify(task)], PIPED));
  return (home, name, count) => start({ home, name, count });
}

const PIPED: SpawnOptions = { stdio: ['ignore', 'pipe', 'inherit'] };

/** A process that writes ledger lines. */
export class Writing {
  readonly #child: ChildProcess;
  #said = '';
  readonly ended: Promise<number | null>;

  constructor(child: ChildProcess) {
    this.#child = child;
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#said += text;
    });
    this.ended = new Promise(resolve => {
      child.once('close', resolve);
    });
    onTestFinished(() => this.kill());
  }

  /** The runs whose lines the process reported as durable. */
  get said(): string[] {
    return this.#said.split('\n').slice(0, -1);
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}

export function writeLines(home: string, lines: readonly string[]): void {
  writeFileSync(ledgerIn(home), lines.map(line => `${line}\n`).join(''));
}
