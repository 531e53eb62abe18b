import { constants } from 'node:os';
import type { Ending } from '../contracts/ending.ts';
import type { Runner } from '../contracts/runner/shape.ts';

/** An ending in the words of runner records. */
export function exitOf(ending: Ending): Runner['exit'] {
  const flags = { oom_killed: ending.how === 'out_of_memory', timeout_killed: isTime(ending) };
  if (ending.how === 'exited' || ending.how === 'not_started') return { code: ending.code, ...flags };
  // Where the victim was not the program itself, its code is its own, and no signal ended it.
  if (ending.how === 'out_of_memory' && ending.code !== codeOf('SIGKILL')) return { code: ending.code, ...flags };
  const signal = 'signal' in ending ? ending.signal : 'SIGKILL';
  return { code: codeOf(signal), signal, ...flags };
}

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
