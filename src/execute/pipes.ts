import { execFile } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { Fault } from '../base/fault.ts';
import { stagePath } from './workspace.ts';

/** The way out for what a program says: an end to read from, and one to hand to the program. */
export interface Pipe {
  readonly reader: Readable;
  readonly writeFd: number;
}

/**
 * Pipes of the kernel. What Node calls a pipe is a pair of sockets, which a program cannot open again by the names
 * /dev/stdout and /dev/stderr, as many scripts do.
 */
export async function makePipes(count: number): Promise<Pipe[]> {
  const folder = mkdtempSync(stagePath('pipes-'));
  try {
    const names = Array.from({ length: count }, (_, index) => path.join(folder, String(index)));
    // Anybody may open it who already holds it; nobody else can get there.
    await promisify(execFile)('/usr/bin/mkfifo', ['-m', '666', ...names], { env: {}, timeout: 10_000 });
    return names.map(open);
  } catch (cause) {
    throw new Fault('pipes_failed', 'The streams of the program could not be made.', { cause });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The reading end first, without waiting for a writer; the writing end is then there at once. */
function open(name: string): Pipe {
  const fd = openSync(name, constants.O_RDONLY | constants.O_NONBLOCK);
  const writeFd = openSync(name, constants.O_WRONLY);
  return { reader: new Socket({ fd, readable: true, writable: false }), writeFd };
}

/** The program has its ends now; as long as we had them too, no stream would ever end. */
export function handOver(pipes: readonly Pipe[]): void {
  for (const { writeFd } of pipes) closeSync(writeFd);
}
