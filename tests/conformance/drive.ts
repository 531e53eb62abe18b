import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';
import { onTestFinished } from 'vitest';
import type { Leftovers } from '../../src/execute/job/job.ts';
import { ROOT } from '../support/support.ts';
import type { Driven } from './driver.ts';
import type { Outcome } from './jobs.ts';

/** The driver's report about a run: its outcome, or the reason why there is none. */
export type Said = Outcome & { readonly fault?: string; readonly detail?: string };

interface Around {
  readonly uid?: number;
  readonly env?: Record<string, string>;
  /** The command that starts the driver. */
  readonly through?: readonly string[];
}

/** Runs programs one after another through a launcher that another process owns. */
export async function drive(runs: readonly Driven[], around: Around = {}): Promise<Said[]> {
  const said: Said[] = [];
  for await (const line of linesOf(await started(runs, around))) said.push(JSON.parse(line) as Said);
  return said;
}

/** Starts a long-running program, and resolves after its first output. */
export async function held(
  run: Driven,
  around: Around = {},
): Promise<{ owner: ChildProcess; launcher: number; leftovers: Leftovers }> {
  const owner = await started([{ ...run, isHeld: true }], around);
  for await (const line of linesOf(owner)) {
    return { owner, ...(JSON.parse(line) as { launcher: number; leftovers: Leftovers }) };
  }
  throw new Error('The owner ended before its program started');
}

async function started(runs: readonly Driven[], { uid, env, through = [] }: Around): Promise<ChildProcess> {
  // In a folder that every user can read, together with the launcher.
  const folder = mkdtempSync(path.join(tmpdir(), 'proctor-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o755);
  const outfile = path.join(folder, 'driver.mjs');
  await build({
    entryPoints: [path.join(import.meta.dirname, 'driver.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
  });
  copyFileSync(path.join(ROOT, 'dist', 'launcher.js'), path.join(folder, 'launcher.js'));
  const command = [process.execPath, outfile, JSON.stringify(runs)];
  const [program = process.execPath, ...args] = through.length > 0 ? [...through, ...command] : command;
  const owner = spawn(program, args, {
    cwd: '/',
    env: { PATH: '/usr/bin:/bin', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
    ...(uid !== undefined && { uid, gid: uid }),
  });
  onTestFinished(() => void owner.kill('SIGKILL'));
  return owner;
}

function linesOf(owner: ChildProcess): AsyncIterable<string> {
  return createInterface({ input: owner.stdout as NodeJS.ReadableStream });
}
