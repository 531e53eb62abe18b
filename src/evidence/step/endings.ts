import { constants } from 'node:os';
import { canonicalize } from '../../base/canonical.ts';
import type { Ending } from '../../contracts/ending.ts';
import type { Runner } from '../../contracts/runner/shape.ts';

/** The exit that a runner record states. */
export function exitOf(ending: Ending): Runner['exit'] {
  const flags = { oom_killed: ending.how === 'out_of_memory', timeout_killed: isTime(ending) };
  if (ending.how === 'exited' || ending.how === 'not_started') return { code: ending.code, ...flags };
  // If the kernel killed only a child, the program has its own exit code and no signal. But a run that lost a process
  // to the kernel must not end with code 0, so its record then states SIGKILL.
  const isOwn = ending.how === 'out_of_memory' && ending.code !== 0 && ending.code !== codeOf('SIGKILL');
  if (isOwn) return { code: ending.code, ...flags };
  const signal = 'signal' in ending ? ending.signal : 'SIGKILL';
  return { code: codeOf(signal), signal, ...flags };
}

/** Whether a record matches an ending. Older records have code 0 if only a child ran out of memory. */
export function isExitOf(ending: Ending, exit: Runner['exit']): boolean {
  const older = ending.how === 'out_of_memory' && ending.code === 0 && { ...OLDER_OOM };
  return [exitOf(ending), older].some(told => told && canonicalize(told) === canonicalize(exit));
}

const OLDER_OOM: Runner['exit'] = { code: 0, oom_killed: true, timeout_killed: false };

/** Whether a time limit ended the program. */
export function isTime(ending: Ending): boolean {
  return ending.how === 'killed' && (ending.by === 'timeout' || ending.by === 'idle' || ending.by === 'cpu');
}

/** The termination of an agent step. */
export function stepTermination(
  ending: Ending,
  hasSucceeded: boolean,
): 'completed' | 'error' | 'killed_timeout' | 'killed_idle' | 'killed_policy' {
  if (ending.how === 'killed' && ending.by === 'idle') return 'killed_idle';
  if (isTime(ending)) return 'killed_timeout';
  if (ending.how === 'killed' && ending.by === 'policy') return 'killed_policy';
  return hasSucceeded ? 'completed' : 'error';
}

function codeOf(signal: string): number {
  return 128 + (constants.signals[signal as NodeJS.Signals] ?? 0);
}

/** Describes an ending, for documents. */
export function endingText(ending: Ending): string {
  if (ending.how === 'exited') return `exit code ${ending.code}`;
  if (ending.how === 'signalled') return `ended by ${ending.signal}`;
  if (ending.how === 'killed') return `stopped by Proctor with ${ending.signal}: ${STOPPED_BY[ending.by]}`;
  if (ending.how === 'out_of_memory') return `out of memory, exit code ${ending.code}`;
  return ending.how === 'lost' ? 'unknown: Proctor was interrupted' : `could not start, exit code ${ending.code}`;
}

const STOPPED_BY = {
  timeout: 'the time limit was reached',
  idle: 'the idle limit was reached',
  cpu: 'the CPU time limit was reached',
  cancel: 'the run was cancelled',
  policy: 'the policy was violated',
} as const;
