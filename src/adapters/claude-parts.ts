import type { AgentEvent } from '../contracts/agent-step/reading.ts';
import { clipped, listIn, objectIn, pathIn, type StreamObject, textIn } from './json-values.ts';
import { EVENTS_MAX } from './stream.ts';

/** Converts the parts of a message to events. */
export function claudeEvents(
  content: unknown,
  role: 'assistant' | 'user',
  called: (block: StreamObject) => AgentEvent[],
  finished: (block: StreamObject) => AgentEvent[],
): AgentEvent[] {
  if (typeof content === 'string') return [{ kind: 'message', role, body: clipped(content) }];
  const events: AgentEvent[] = [];
  for (const part of listIn(content)) {
    if (events.length >= EVENTS_MAX) {
      events.push({
        kind: 'note',
        level: 'warning',
        text: `The message has more than ${EVENTS_MAX} parts; the rest is ignored.`,
      });
      break;
    }
    const block = objectIn(part);
    const type = textIn(block?.type);
    if (!block || type === undefined) continue;
    if (type === 'text') events.push({ kind: 'message', role, body: clipped(textIn(block.text) ?? '') });
    else if (type === 'thinking') events.push({ kind: 'thinking', body: clipped(textIn(block.thinking) ?? '') });
    else if (type === 'tool_use' || type === 'server_tool_use') events.push(...called(block));
    else if (type === 'tool_result' || type.endsWith('_tool_result')) events.push(...finished(block));
  }
  return events;
}

/** The text of a tool result, which is a string or a list of parts. */
export function resultText(content: unknown): string {
  if (typeof content === 'string') return content;
  return listIn(content)
    .map(part => textIn(objectIn(part)?.text))
    .filter(text => text !== undefined)
    .join('\n');
}

/** The id of the call that a result's metadata reports as refused, if any. */
export function refusalOf(note: unknown): string[] {
  const meta = objectIn(note);
  const id = textIn(meta?.id);
  const isRejected =
    textIn(objectIn(meta?.permission_decision)?.decision) === 'reject' ||
    /reject|denied|permission/.test(textIn(meta?.non_execution_kind) ?? '');
  return id !== undefined && isRejected ? [id] : [];
}

export function fileChangeOf(outcome: StreamObject | undefined): AgentEvent | undefined {
  const path = pathIn(outcome?.filePath);
  // A read also has a path, but no patch.
  if (path === undefined || !Array.isArray(outcome?.structuredPatch)) return undefined;
  return { kind: 'file_change', path, change: outcome.type === 'create' ? 'add' : 'update' };
}
