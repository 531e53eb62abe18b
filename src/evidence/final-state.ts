import { printable } from '../base/printable.ts';
import type { Ending } from '../contracts/ending.ts';
import type { ScriptRun } from './script-run.ts';

/** A short summary for people who open the folder. */
export function finalState({ plan, capture, reading, completedAtMs }: ScriptRun): string {
  const { request, correlationId } = plan;
  const { sandbox } = plan.runner;
  const lines = [
    `run        ${request.run_id}`,
    `script     ${printable(request.script.name)}`,
    `status     ${reading.status}${reading.reason === null ? '' : ` (${reading.reason})`}`,
    `ending     ${endingText(capture.ending)}`,
    `sandbox    ${sandbox.backend}, isolation ${sandbox.isolation_level}`,
    `output     ${reading.files.length} files${reading.salvaged ? ', salvaged' : ''}`,
    `took       ${completedAtMs - plan.startedAtMs} ms`,
    ...(reading.publicMessage === null ? [] : [`message    ${reading.publicMessage}`, `reference  ${correlationId}`]),
  ];
  return `${lines.join('\n')}\n`;
}

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
