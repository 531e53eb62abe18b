import type { AgentEvent, AgentUsage, ClippedText } from '../../contracts/agent-step/reading.ts';

/** The position of a line in the transcript. */
export interface LinePlace {
  readonly seq: number;
  readonly atMs: number;
  readonly nativeLine: number;
}

/**
 * Writes a transcript line as canonical JSON, with the keys of each kind in order. Agents print millions of
 * small lines, and sorting the keys of each would take longer than everything else.
 */
export function lineText({ seq, atMs, nativeLine }: LinePlace, event: AgentEvent): string {
  const from = `{"at_ms":${atMs},`;
  const line = `"native_line":${nativeLine},`;
  const end = `"schema_version":"transcript-line.v1","seq":${seq}`;
  switch (event.kind) {
    case 'message':
      return `${from}"body":${clip(event.body)},"kind":"message",${line}"role":"${event.role}",${end}}`;
    case 'thinking':
      return `${from}"body":${clip(event.body)},"kind":"thinking",${line}${end}}`;
    case 'tool_call': {
      const { call, tool, input, command, path } = event;
      const ran = command === undefined ? '' : `"command":${clip(command)},`;
      const about = path === undefined ? '' : `"path":${quote(path)},`;
      return `${from}"call":${quote(call)},${ran}"input":${clip(input)},"kind":"tool_call",${line}${about}${end},"tool":${quote(tool)}}`;
    }
    case 'tool_result':
      return `${from}"call":${quote(event.call)},"exit_code":${event.exit_code},"kind":"tool_result",${line}"ok":${event.ok},"output":${clip(event.output)},${end}}`;
    case 'file_change':
      return `${from}"change":"${event.change}","kind":"file_change",${line}"path":${quote(event.path)},${end}}`;
    case 'denial':
      return `${from}"call":${event.call === null ? 'null' : quote(event.call)},"kind":"denial",${line}"reason":${quote(event.reason)},${end},"tool":${quote(event.tool)}}`;
    case 'retry':
      return `${from}"attempt":${event.attempt},"kind":"retry","message":${quote(event.message)},${line}${end},"status":${event.status}}`;
    case 'usage':
      return `${from}"kind":"usage",${line}${end},"usage":${used(event.usage)}}`;
    case 'final':
      return `${from}"body":${event.body === null ? 'null' : clip(event.body)},"kind":"final",${line}"ok":${event.ok},${end}}`;
    default:
      return `${from}"kind":"note","level":"${event.level}",${line}${end},"text":${quote(event.text)}}`;
  }
}

function clip({ text, bytes_total }: ClippedText): string {
  return bytes_total === undefined ? `{"text":${quote(text)}}` : `{"bytes_total":${bytes_total},"text":${quote(text)}}`;
}

function used({ turns, input_tokens, cached_input_tokens, output_tokens, cost_usd }: AgentUsage): string {
  return `{"cached_input_tokens":${cached_input_tokens},"cost_usd":${cost_usd},"input_tokens":${input_tokens},"output_tokens":${output_tokens},"turns":${turns}}`;
}

/** Most strings need no escaping. */
function quote(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

const PLAIN = /^[ !#-[\]-~]*$/;
