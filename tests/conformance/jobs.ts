import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import path from 'node:path';
import type { Job, Leftovers, JobLimits, Mount } from '../../src/execute/job/job.ts';
import type { Launcher, SandboxHandle } from '../../src/execute/launcher/launch.ts';
import { reachable } from '../../src/execute/sandboxes/mounts.ts';
import { makeStage, removeStage } from '../../src/execute/host/workspace.ts';
import type { Capture } from '../../src/contracts/capture.ts';

export const MB = 1024 * 1024;

/** Receives output while the program runs. */
export type Show = Parameters<SandboxHandle['start']>[0];

/** A program to run. All defaults are harmless. */
export interface Asked {
  readonly argv: readonly string[];
  readonly then?: readonly (readonly string[])[];
  readonly env?: Record<string, string>;
  /** Staged in `input/`. Names that end in `.sh` are executable. */
  readonly files?: Record<string, string | Uint8Array>;
  /** Staged in the work folder, by path. */
  readonly laid?: Record<string, string>;
  readonly writeRoots?: readonly string[];
  /** The initial contents of the write roots. */
  readonly begins?: Record<string, string | Uint8Array>;
  readonly programs?: readonly string[];
  /** Standard input, staged as a file. */
  readonly input?: string;
  readonly home?: true;
  /** Passed through `reachable` first. */
  readonly mounts?: readonly Mount[];
  /** Passed unchanged. */
  readonly mountsAsTheyAre?: readonly Mount[];
  /** Opens a proxy socket with an echo server. */
  readonly door?: true;
  readonly guarded?: true;
  readonly network?: Job['network'];
  readonly limits?: Partial<JobLimits>;
  readonly secrets?: readonly string[];
  readonly keepIn?: string;
}

export interface Outcome extends Capture {
  readonly out: string;
  readonly err: string;
  readonly leftovers: Leftovers;
}

/** Creates a sandbox for a program without starting it. */
export async function opened(
  launcher: Launcher,
  backend: Job['backend'],
  asked: Asked,
  live = false,
): Promise<SandboxHandle> {
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

/** Runs a program to its end. `look` gets its work folder before it is removed. */
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

/** A unique word. */
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

export const LIMITS: JobLimits = {
  timeoutMs: 20_000,
  memoryBytes: 512 * MB,
  pids: 64,
  openFiles: 256,
  workBytes: 16 * MB,
  workEntries: 100,
  keep: keeping(256 * 1024, 64 * 1024),
  graceMs: 300,
};

export function keeping(headBytes: number, tailBytes: number): JobLimits['keep'] {
  const ends = { headBytes, tailBytes };
  return { stdout: ends, stderr: ends };
}
