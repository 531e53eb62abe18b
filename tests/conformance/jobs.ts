import { randomBytes } from 'node:crypto';
import { chmodSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Job, Leftovers, Limits } from '../../src/execute/job.ts';
import type { Launcher, Prepared } from '../../src/execute/launch.ts';
import { makeStage, removeStage } from '../../src/execute/workspace.ts';
import type { Capture } from '../../src/contracts/capture.ts';

export const MB = 1024 * 1024;

/** What a program may say while it runs. */
export type Show = Parameters<Prepared['start']>[0];

/** A program to run; everything that is not said is harmless. */
export interface Asked {
  readonly argv: readonly string[];
  readonly env?: Record<string, string>;
  /** Laid out in `input/`. A name that ends in `.sh` is executable. */
  readonly files?: Record<string, string | Uint8Array>;
  readonly programs?: readonly string[];
  readonly network?: Job['network'];
  readonly limits?: Partial<Limits>;
  readonly secrets?: readonly string[];
  readonly keepIn?: string;
}

/** What became of it. */
export interface Outcome extends Capture {
  readonly out: string;
  readonly err: string;
  readonly leftovers: Leftovers;
}

/** Makes a sandbox for a program, and waits in front of it. */
export async function opened(
  launcher: Launcher,
  backend: Job['backend'],
  { argv, env, files = {}, programs, network, limits, secrets = [], keepIn }: Asked,
  live = false,
): Promise<Prepared> {
  const id = unique('conformance');
  const stage = makeStage(id);
  try {
    for (const [name, content] of Object.entries(files)) {
      const file = path.join(stage, 'work', 'input', name);
      writeFileSync(file, content);
      chmodSync(file, name.endsWith('.sh') ? 0o755 : 0o644);
    }
    return await launcher.open({
      id,
      backend,
      argv,
      env: env ?? { PATH: '/usr/bin:/bin' },
      stage,
      staged: ['input'],
      network: network ?? (backend === 'none' ? 'open' : 'blocked'),
      limits: { ...LIMITS, ...limits },
      secrets,
      live,
      ...(programs && { programs }),
      ...(keepIn !== undefined && { keepIn }),
    });
  } catch (error) {
    removeStage(stage);
    throw error;
  }
}

/** Runs a program to its end. `look` sees its work folder before that is gone. */
export async function ran(
  launcher: Launcher,
  backend: Job['backend'],
  asked: Asked,
  { show, look }: { show?: Show; look?: (workFolder: string) => void } = {},
): Promise<Outcome> {
  const prepared = await opened(launcher, backend, asked, show !== undefined);
  try {
    const capture = await prepared.start(show);
    look?.(prepared.workFolder);
    return outcomeOf(capture, prepared.leftovers);
  } finally {
    await prepared.close();
  }
}

function outcomeOf(capture: Capture, leftovers: Leftovers): Outcome {
  const { stdout, stderr } = capture;
  return { ...capture, out: Buffer.from(stdout.head).toString(), err: Buffer.from(stderr.head).toString(), leftovers };
}

/** A word that stands nowhere else on this machine. */
export function unique(word: string): string {
  return `${word}-${randomBytes(6).toString('hex')}`;
}

export const python = (code: string, ...args: string[]): string[] => [
  '/usr/bin/python3',
  '-I',
  '-S',
  '-c',
  code,
  ...args,
];
export const shell = (code: string, ...args: string[]): string[] => ['/bin/sh', '-c', code, 'sh', ...args];

const LIMITS: Limits = {
  timeoutMs: 20_000,
  memoryBytes: 512 * MB,
  pids: 64,
  openFiles: 256,
  workBytes: 16 * MB,
  workEntries: 100,
  keep: keeping(256 * 1024, 64 * 1024),
  graceMs: 300,
};

/** The same of both streams. */
export function keeping(headBytes: number, tailBytes: number): Limits['keep'] {
  const ends = { headBytes, tailBytes };
  return { stdout: ends, stderr: ends };
}
