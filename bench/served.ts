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

/** Starts `proctor serve` for a project, without a limit that the benchmark would reach. */
export async function startServer(cwd: string, children: ChildProcess[]): Promise<Started> {
  const program = path.resolve('dist', 'proctor.js');
  const args = ['serve', '--listen', '127.0.0.1:0', '--rate', '1000000'];
  const child = spawn(process.execPath, [program, ...args], { cwd, stdio: ['ignore', 'pipe', 'ignore'] });
  children.push(child);
  const [, url = ''] = /(http:\/\/[^/]+)\/#secret=/.exec(await firstLine(child)) ?? [];
  await (await fetch(`${url}/healthz`)).text();
  const made = execFileSync(
    process.execPath,
    [program, 'token', 'new', '--role', 'admin', '--name', 'bench', '--json'],
    { cwd },
  );
  const { token } = JSON.parse(made.toString()) as { token: string };
  return { pid: child.pid as number, url, headers: { authorization: `Bearer ${token}` } };
}

export async function firstLine(child: ChildProcess): Promise<string> {
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const [line] = (await once(lines, 'line')) as [string];
  return line;
}

/** User and system time of a process, in steps of 10 ms. */
export function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number;
}
