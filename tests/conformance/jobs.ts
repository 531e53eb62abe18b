import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import path from 'node:path';
import type { Job, Leftovers, Limits, Mount } from '../../src/execute/job.ts';
import type { Launcher, Prepared } from '../../src/execute/launch.ts';
import { reachable } from '../../src/execute/mounts.ts';
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
  /** What it reads, laid out in a file. */
  readonly input?: string;
  readonly home?: true;
  /** Made reachable first. */
  readonly mounts?: readonly Mount[];
  /** Not made so. */
  readonly mountsAsTheyAre?: readonly Mount[];
  /** Behind it somebody repeats what they hear, once they have heard all. */
  readonly door?: true;
  readonly guarded?: true;
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
  asked: Asked,
  live = false,
): Promise<Prepared> {
  const { argv, env, files = {}, laid = {}, begins = {}, network, limits, secrets = [], ...others } = asked;
  const { input, mounts, mountsAsTheyAre, ...rest } = others;
  const id = unique('conformance');
  const stage = makeStage(id);
  let behind: Server | undefined;
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
    if (input !== undefined) writeFileSync(path.join(stage, 'stdin'), input, { mode: 0o600 });
    if (rest.door) behind = await repeating(path.join(stage, 'door'));
    const shown = mounts ? await reachable(mounts, stage) : mountsAsTheyAre;
    const prepared = await launcher.open({
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
      ...(input !== undefined && { stdin: 'stdin' }),
      ...(shown && { mounts: shown }),
    });
    return { ...prepared, close: () => prepared.close().finally(() => void behind?.close()) };
  } catch (error) {
    behind?.close();
    removeStage(stage);
    throw error;
  }
}

async function repeating(folder: string): Promise<Server> {
  mkdirSync(folder);
  const server = createServer({ allowHalfOpen: true }, socket => {
    const heard: Buffer[] = [];
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => heard.push(chunk));
    socket.on('end', () => socket.end(Buffer.concat(heard)));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path.join(folder, 'model.sock'), resolve);
  });
  return server;
}

/** Runs a program to its end. `look` sees its work folder before that is gone. */
export async function ran(
  launcher: Launcher,
  backend: Job['backend'],
  asked: Asked,
  { show, look }: { show?: Show; look?: (workFolder: string, homeFolder: string) => void } = {},
): Promise<Outcome> {
  const prepared = await opened(launcher, backend, asked, show !== undefined);
  try {
    const capture = await prepared.start(show);
    look?.(prepared.workFolder, prepared.homeFolder ?? '');
    return outcomeOf(capture, prepared.leftovers);
  } finally {
    await prepared.close();
  }
}

export function outcomeOf(capture: Capture, leftovers: Leftovers): Outcome {
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
