import { constants } from 'node:os';
import { canonicalize } from '../base/canonical.ts';
import type { Ending } from '../contracts/ending.ts';
import type { Runner } from '../contracts/runner/shape.ts';

/** An ending in the words of runner records. */
export function exitOf(ending: Ending): Runner['exit'] {
  const flags = { oom_killed: ending.how === 'out_of_memory', timeout_killed: isTime(ending) };
  if (ending.how === 'exited' || ending.how === 'not_started') return { code: ending.code, ...flags };
  // If the victim was a child, the code is the program's own, and no signal ended it. But a run that lost a process to the
  // kernel did not end with 0: its record tells of that process.
  const isOwn = ending.how === 'out_of_memory' && ending.code !== 0 && ending.code !== codeOf('SIGKILL');
  if (isOwn) return { code: ending.code, ...flags };
  const signal = 'signal' in ending ? ending.signal : 'SIGKILL';
  return { code: codeOf(signal), signal, ...flags };
}

/** Whether a record tells of this ending. Older ones have code 0 if a child alone ran out of memory. */
export function isExitOf(ending: Ending, exit: Runner['exit']): boolean {
  const older = ending.how === 'out_of_memory' && ending.code === 0 && { ...OLDER_OOM };
  return [exitOf(ending), older].some(told => told && canonicalize(told) === canonicalize(exit));
}

const OLDER_OOM: Runner['exit'] = { code: 0, oom_killed: true, timeout_killed: false };

/** Whether one of our clocks ended it. */
export function isTime(ending: Ending): boolean {
  return ending.how === 'killed' && (ending.by === 'timeout' || ending.by === 'idle' || ending.by === 'cpu');
}

/** An ending in the words of agent steps, for a step that succeeded or did not. */
export function terminationOf(
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
