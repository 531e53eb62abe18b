import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { orWriteFault } from '../../base/fault.ts';
import { OWN_FILE } from '../../base/private.ts';
import { bootId } from './machine.ts';
import { builtProgram } from './package-files.ts';
import { isAlive, startTicksOf } from './processes.ts';

/** A process, as a journal names it. */
export interface CommandOwner {
  readonly pid: number;
  readonly startTicks: number;
  readonly bootId: string;
}

export interface OwnCommand {
  /** Null if it could not start, or ended at once. */
  readonly owner: CommandOwner | null;
  /** The exit code; null if a signal ended it, or if it could not start. */
  readonly ended: Promise<number | null>;
}

/**
 * Starts a command of this Proctor that outlives the caller. Its result, one JSON document, replaces the contents of a
 * file. Everything else that it prints is discarded. Without an environment, it gets that of this process.
 */
export function startOwnCommand(
  args: readonly string[],
  cwd: string,
  environment: Readonly<Record<string, string | undefined>> | undefined,
  resultFile: string,
): OwnCommand {
  const result = orWriteFault('order_failed', 'The result of the run', () => openSync(resultFile, 'w', OWN_FILE));
  try {
    const child = spawn(process.execPath, [builtProgram('proctor.js'), ...args], {
      cwd,
      ...(environment && { env: environment }),
      detached: true,
      stdio: ['ignore', result, 'ignore'],
    });
    const ended = new Promise<number | null>(resolve => {
      child.once('error', () => resolve(null));
      child.once('exit', code => resolve(code));
    });
    child.unref();
    const startTicks = child.pid === undefined ? undefined : startTicksOf(child.pid);
    const isNamed = child.pid !== undefined && startTicks !== undefined;
    return { owner: isNamed ? { pid: child.pid, startTicks, bootId: bootId() } : null, ended };
  } finally {
    closeSync(result);
  }
}

export function isCommandAlive({ pid, startTicks, bootId: boot }: CommandOwner): boolean {
  return boot === bootId() && startTicksOf(pid) === startTicks && isAlive(pid);
}

/** Stops a command as Ctrl-C does, but never this process. */
export function interruptOwnCommand(owner: CommandOwner): void {
  if (owner.pid === process.pid || !isCommandAlive(owner)) return;
  try {
    process.kill(owner.pid, 'SIGINT');
  } catch {
    // It has just ended.
  }
}
