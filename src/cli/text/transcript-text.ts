import { printable } from '../../base/printable.ts';
import type { TranscriptLine } from '../../contracts/agent-step/reading.ts';
import type { Paint } from './paint.ts';

/** One line for an agent event; undefined for events that are recorded but not shown. */
export function eventText(line: TranscriptLine, paint: Paint): string | undefined {
  const at = paint('faint', `${(line.at_ms / 1_000).toFixed(1).padStart(6)}s`);
  const said = saidBy(line, paint);
  return said === undefined ? undefined : `${at}  ${said}`;
}

function saidBy(line: TranscriptLine, paint: Paint): string | undefined {
  switch (line.kind) {
    case 'message':
      return line.role === 'assistant' ? short(line.body.text) : undefined;
    case 'tool_call':
      return `${paint('strong', printable(line.tool))} ${short(line.command?.text ?? inWorkFolder(line.path ?? line.input.text))}`;
    case 'tool_result':
      if (line.ok) return undefined;
      return `${paint('bad', '✗')} ${line.exit_code === null ? '' : `exit ${line.exit_code}: `}${short(line.output.text)}`;
    case 'file_change':
      return `${paint('good', line.change)} ${printable(inWorkFolder(line.path))}`;
    case 'denial':
      return `${paint('bad', 'denied')} ${printable(line.tool)}: ${short(line.reason)}`;
    case 'retry':
      return paint('note', `retry${line.status === null ? '' : ` after ${line.status}`}: ${short(line.message)}`);
    case 'note':
      return line.level === 'info' ? undefined : paint('note', `${line.level}: ${short(line.text)}`);
    default:
      return undefined;
  }
}

/** Drops `/work/`, the work folder inside the sandbox, which every path would begin with. */
export function inWorkFolder(text: string): string {
  return text.startsWith('/work/') ? text.slice('/work/'.length) : text;
}

/** The first line that is not blank, cut to fit next to the time. */
function short(text: string): string {
  const first = text.split('\n', 100).find(part => part.trim() !== '') ?? '';
  const line = printable(first.trim());
  return line.length > WIDTH ? `${line.slice(0, WIDTH)}…` : line;
}

const WIDTH = 110;
