import type { AgentEvent } from '../contracts/agent-step/reading.ts';
import { brief, clipped, listIn, objectIn, type Said, textIn } from './said.ts';
import { EVENTS_MAX } from './stream.ts';

/** What the parts of a message say. */
export function eventsOf(
  content: unknown,
  role: 'assistant' | 'user',
  called: (block: Said) => AgentEvent[],
  finished: (block: Said) => AgentEvent[],
): AgentEvent[] {
  if (typeof content === 'string') return [{ kind: 'message', role, body: clipped(content) }];
  const events: AgentEvent[] = [];
  for (const part of listIn(content)) {
    if (events.length >= EVENTS_MAX) {
      events.push({ kind: 'note', level: 'warning', text: 'The line has more parts than are told.' });
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

/** A result is a text, or parts of which some are texts. */
export function resultText(content: unknown): string {
  if (typeof content === 'string') return content;
  return listIn(content)
    .map(part => textIn(objectIn(part)?.text))
    .filter(text => text !== undefined)
    .join('\n');
}

/** The call that was turned down, if a note on a result tells of one. */
export function refusalOf(note: unknown): [string, true][] {
  const meta = objectIn(note);
  const id = textIn(meta?.id);
  const isRejected =
    textIn(objectIn(meta?.permission_decision)?.decision) === 'reject' ||
    /reject|denied|permission/.test(textIn(meta?.non_execution_kind) ?? '');
  return id !== undefined && isRejected ? [[id, true]] : [];
}

export function fileChangeOf(outcome: Said | undefined): AgentEvent | undefined {
  const path = textIn(outcome?.filePath);
  // Reading a file tells its path, too; only a change has a patch.
  if (path === undefined || path === '' || !Array.isArray(outcome?.structuredPatch)) return undefined;
  return {
    kind: 'file_change',
    path: brief(path, PATH_BYTES_MAX),
    change: outcome.type === 'create' ? 'add' : 'update',
  };
}

export const PATH_BYTES_MAX = 4096;
