import type { Ending } from '../../contracts/ending.ts';
import type { Runner } from '../../contracts/runner/shape.ts';
import type { ScriptOutcome } from '../../contracts/script-outcome/shape.ts';

/** How a program ended, as a sentence that names the actor. */
export function endingSentence(
  name: string,
  { ending, limits }: Pick<ScriptOutcome, 'ending' | 'limits'>,
  runner: Runner | undefined,
): string {
  if (ending.how === 'exited') return `${name} exited with code ${ending.code}.`;
  if (ending.how === 'signalled') return `The signal ${ending.signal} ended ${name}.`;
  if (ending.how === 'out_of_memory') return `${name} ran out of memory.`;
  if (ending.how === 'not_started') return `${name} could not start.`;
  if (ending.how === 'lost') return `Proctor was interrupted and did not see how ${name} ended.`;
  const { timeout_ms, max_cpu_seconds = 0 } = runner?.limits ?? {};
  const reasons: Record<typeof ending.by, string> = {
    timeout: `Proctor stopped ${name} at its time limit${of(timeout_ms)}.`,
    idle: `Proctor stopped ${name} at its limit${of(limits.idle_timeout_ms)} without output.`,
    cpu: `Proctor stopped ${name} at its CPU time limit${of(max_cpu_seconds * 1_000)}.`,
    policy: `Proctor stopped ${name}, because it broke its policy.`,
    cancel: `The run of ${name} was cancelled.`,
  };
  return reasons[ending.by];
}

const of = (ms: number | null | undefined): string => (ms ? ` of ${ms / 1_000} s` : '');

/** How a program ended, in a few words. */
export function endingWords(ending: Ending): string {
  if (ending.how === 'exited') return `exit code ${ending.code}`;
  if (ending.how === 'signalled') return `signal ${ending.signal}`;
  if (ending.how === 'killed') return `stopped with ${ending.signal}: ${STOPPED[ending.by]}`;
  if (ending.how === 'out_of_memory') return `out of memory, exit code ${ending.code}`;
  return ending.how === 'lost' ? 'unknown' : `could not start, exit code ${ending.code}`;
}

const STOPPED = {
  timeout: 'time limit',
  idle: 'no output',
  cpu: 'CPU time limit',
  cancel: 'cancelled',
  policy: 'policy',
} as const;
