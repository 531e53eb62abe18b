/** The processes that the parts of `npm run bench:serve` measure: the real server of a project, and bare ones. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';

/** In memory, if possible, so that the disk is not measured. */
export const FILES_IN = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

export interface Started {
  readonly pid: number;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Starts `proctor serve` for a project, without a limit that the benchmark would reach; with a queue, if it gets one. */
export async function startServer(
  cwd: string,
  children: ChildProcess[],
  queue?: string,
  store?: string,
): Promise<Started> {
  const program = path.resolve('dist', 'proctor.js');
  const team = [...(queue === undefined ? [] : ['--queue']), ...(store === undefined ? [] : ['--store', store])];
  const args = ['serve', '--listen', '127.0.0.1:0', '--rate', '1000000', ...team];
  const env = { ...process.env, ...(queue !== undefined && { PROCTOR_QUEUE: queue }) };
  const child = spawn(process.execPath, [program, ...args], { cwd, env, stdio: ['ignore', 'pipe', 'ignore'] });
  children.push(child);
  const [, url = ''] = /(http:\/\/[^/]+)\/#secret=/.exec(await firstLine(child)) ?? [];
  await (await fetch(`${url}/healthz`)).text();
  const headers = { authorization: `Bearer ${newToken(cwd, 'admin', 'bench')}` };
  return { pid: child.pid as number, url, headers };
}

/** A new token for the server of a project. */
export function newToken(cwd: string, role: 'viewer' | 'worker' | 'admin', name: string): string {
  const program = path.resolve('dist', 'proctor.js');
  const words = ['token', 'new', '--role', role, '--name', name, '--json'];
  const made = execFileSync(process.execPath, [program, ...words], { cwd });
  return (JSON.parse(made.toString()) as { token: string }).token;
}

export async function firstLine(child: ChildProcess): Promise<string> {
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const [line] = (await once(lines, 'line')) as [string];
  return line;
}

/** User and system time of a process, in steps of 10 ms. */
export function cpuMsOf(pid: number): number {
  return cpuOf(pid).own;
}

function cpuOf(pid: number): { readonly own: number; readonly waitedFor: number } {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
    .map(Number);
  const [user = 0, system = 0, childrenUser = 0, childrenSystem = 0] = fields.slice(11, 15);
  return { own: (user + system) * 10, waitedFor: (childrenUser + childrenSystem) * 10 };
}

/** User and system time of a process that runs and of all its children, also of those that have ended. */
export function treeCpuMs(pid: number): number {
  const children = childrenOf(pid).reduce((sum, child) => sum + (existsSync(`/proc/${child}`) ? cpuMsOf(child) : 0), 0);
  const { own, waitedFor } = cpuOf(pid);
  return own + waitedFor + children;
}

/** What the children of this process used that have ended. */
export function endedCpuMs(): number {
  return cpuOf(process.pid).waitedFor;
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
}

/** Memory of a process in MB. */
export function rssMbOf(pid: number): number {
  return statusMbOf(pid, /VmRSS:\s+(\d+)/);
}

/** The most memory that a process has used, in MB. */
export function peakRssMbOf(pid: number): number {
  return statusMbOf(pid, /VmHWM:\s+(\d+)/);
}

function statusMbOf(pid: number, line: RegExp): number {
  return Number(line.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024;
}
