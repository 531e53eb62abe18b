import path from 'node:path';
import { bootId } from './machine.ts';
import { procText } from './proc-files.ts';
import { isAlive, startTicksOf } from './processes.ts';

/** A process, as a journal names it. */
export interface ProcessName {
  readonly pid: number;
  readonly startTicks: number;
  readonly bootId: string;
}

/**
 * Sends SIGINT to a process, as Ctrl-C does. Returns `gone` if the process has ended, and `other` if it is not a run
 * command of Proctor: another program may not survive the signal.
 */
export function interruptCommand(name: ProcessName): 'sent' | 'gone' | 'other' {
  const { pid, startTicks } = name;
  if (pid <= 0 || name.bootId !== bootId() || startTicksOf(pid) !== startTicks || !isAlive(pid)) return 'gone';
  if (!isRunCommand(pid)) return 'other';
  try {
    // The arguments were read from this process only if it is still the same one.
    if (startTicksOf(pid) !== startTicks) return 'gone';
    process.kill(pid, 'SIGINT');
    return 'sent';
  } catch {
    return 'gone';
  }
}

/** Whether a process runs a command of Proctor that ends its runs on Ctrl-C. A server does not: it ends all of them. */
function isRunCommand(pid: number): boolean {
  const words = procText(`/proc/${pid}/cmdline`)?.split('\0') ?? [];
  const at = words.findIndex((word, index) => index > 0 && PROGRAM.test(path.basename(word)));
  const [verb] = at < 0 ? [] : words.slice(at + 1).filter(word => !word.startsWith('-'));
  return verb !== undefined && VERBS.has(verb);
}

const PROGRAM = /^proctor(?:\.js)?$/;
const VERBS: ReadonlySet<string> = new Set(['run', 'test', 'reproduce']);
