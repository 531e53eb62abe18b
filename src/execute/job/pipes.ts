import { execFile } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { Fault } from '../../base/fault.ts';
import { stagePath } from '../host/workspace.ts';

/** A program's stream: Proctor reads from one end, the program writes to the other. */
export interface Pipe {
  readonly reader: Readable;
  readonly writeFd: number;
}

/**
 * Creates kernel pipes. Node's pipes are sockets, which cannot be reopened as /dev/stdout, but many scripts do that.
 */
export async function makePipes(count: number): Promise<Pipe[]> {
  const folder = mkdtempSync(stagePath('pipes-'));
  try {
    const names = Array.from({ length: count }, (_, index) => path.join(folder, String(index)));
    // The program may run as another user. No other user can enter the private folder.
    await promisify(execFile)('/usr/bin/mkfifo', ['-m', '666', ...names], { env: {}, timeout: 10_000 });
    return names.map(open);
  } catch (cause) {
    throw new Fault('pipes_failed', "The program's streams could not be created.", { cause });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Opens the reading end without waiting for a writer. Opening the writing end then succeeds at once. */
function open(name: string): Pipe {
  const fd = openSync(name, constants.O_RDONLY | constants.O_NONBLOCK);
  const writeFd = openSync(name, constants.O_WRONLY);
  return { reader: new Socket({ fd, readable: true, writable: false }), writeFd };
}

/** Closes the writing ends after the program has inherited them. Otherwise the streams would never end. */
export function handOver(pipes: readonly Pipe[]): void {
  for (const { writeFd } of pipes) closeSync(writeFd);
}
