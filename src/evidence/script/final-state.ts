import { counted } from '../../base/counted.ts';
import { printable } from '../../base/printable.ts';
import { endingText } from '../step/endings.ts';
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
    `output     ${counted(reading.files.length, 'file')}${reading.salvaged ? ', salvaged' : ''}`,
    `took       ${completedAtMs - plan.startedAtMs} ms`,
    ...(reading.publicMessage === null ? [] : [`message    ${reading.publicMessage}`, `reference  ${correlationId}`]),
  ];
  return `${lines.join('\n')}\n`;
}
