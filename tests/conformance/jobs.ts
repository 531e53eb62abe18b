import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
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
  readonly then?: readonly (readonly string[])[];
  readonly env?: Record<string, string>;
  /** Laid out in `input/`. A name that ends in `.sh` is executable. */
  readonly files?: Record<string, string | Uint8Array>;
  /** Laid out in the work folder, by their paths. */
  readonly laid?: Record<string, string>;
  readonly writeRoots?: readonly string[];
  /** What the places to write to begin with. */
  readonly begins?: Record<string, string | Uint8Array>;
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
  { argv, env, files = {}, laid = {}, begins = {}, network, limits, secrets = [], ...rest }: Asked,
  live = false,
): Promise<Prepared> {
  const id = unique('conformance');
  const stage = makeStage(id);
  try {
    const write = (folder: string, written: Record<string, string | Uint8Array>): void => {
      for (const [name, content] of Object.entries(written)) {
        const file = path.join(stage, folder, name);
        mkdirSync(path.dirname(file), { recursive: true });
        writeFileSync(file, content);
        chmodSync(file, name.endsWith('.sh') ? 0o755 : folder === 'roots' ? 0o444 : 0o644);
      }
    };
    write('work/input', files);
    write('work', laid);
    write('roots', begins);
    return await launcher.open({
      id,
      backend,
      argv,
      env: env ?? { PATH: '/usr/bin:/bin' },
      stage,
      staged: ['input', ...new Set(Object.keys(laid).map(name => name.split('/')[0] as string))],
      network: network ?? (backend === 'none' ? 'open' : 'blocked'),
      limits: { ...LIMITS, ...limits },
      secrets,
      live,
      ...rest,
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

export const LIMITS: Limits = {
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
