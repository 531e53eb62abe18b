import type { AgentEvent } from '../contracts/agent-step/reading.ts';
import { type Blocked, blockedIn } from './blocked.ts';
import {
  brief,
  clipped,
  jsonOf,
  listIn,
  nameIn,
  objectIn,
  pathIn,
  type StreamObject,
  textIn,
  UNNAMED,
} from './json-values.ts';
import { EVENTS_MAX } from './stream.ts';

type Event<Kind extends AgentEvent['kind']> = AgentEvent & { readonly kind: Kind };

export function isTool(item: StreamObject): boolean {
  return TOOLS.has(item.type as string);
}

/** The only tool that Codex can run in the background. */
export const COMMAND = 'command_execution';

const TOOLS: ReadonlySet<string> = new Set([COMMAND, 'file_change', 'mcp_tool_call', 'collab_tool_call', 'web_search']);

export function callOf(item: StreamObject): Event<'tool_call'> {
  const command = textIn(item.command);
  const path = pathIn(objectIn(listIn(item.changes)[0])?.path);
  return {
    kind: 'tool_call',
    call: itemName(item.id),
    tool: toolOf(item),
    input: clipped(jsonOf(inputOf(item))),
    ...(command !== undefined && { command: clipped(command) }),
    ...(path !== undefined && { path }),
  };
}

/** Built-in tools have no name, so the item type serves as one. */
function toolOf(item: StreamObject): string {
  if (item.type !== 'mcp_tool_call') return itemName(item.type);
  return itemName(`${textIn(item.server) ?? ''}.${textIn(item.tool) ?? ''}`);
}

function inputOf(item: StreamObject): unknown {
  switch (item.type) {
    case 'command_execution':
      return { command: item.command };
    case 'file_change':
      return { changes: item.changes };
    case 'web_search':
      return { query: item.query };
    default:
      return item.arguments;
  }
}

export function outcomeOf(item: StreamObject, call: string): Event<'tool_result'> {
  const code = item.exit_code;
  const exit_code = Number.isSafeInteger(code) ? (code as number) : null;
  const isFailed = item.status === 'failed' || item.status === 'declined' || (exit_code !== null && exit_code !== 0);
  return { kind: 'tool_result', call, ok: !isFailed, output: clipped(outputOf(item)), exit_code };
}

function outputOf(item: StreamObject): string {
  if (item.type === 'command_execution') return textIn(item.aggregated_output) ?? '';
  const error = textIn(objectIn(item.error)?.message);
  if (error !== undefined) return error;
  return item.result === undefined || item.result === null ? '' : jsonOf(item.result);
}

export function* changesOf(item: StreamObject): Generator<AgentEvent> {
  if (item.type !== 'file_change') return;
  for (const one of listIn(item.changes).slice(0, EVENTS_MAX)) {
    const change = objectIn(one);
    const path = pathIn(change?.path);
    const kind = change?.kind;
    if (path === undefined || (kind !== 'add' && kind !== 'update' && kind !== 'delete')) continue;
    yield { kind: 'file_change', path, change: kind };
  }
}

/**
 * Why an item was blocked, if it was. Codex reports this only for calls that it declined. For a failed command, the output may
 * contain the reason. For a failed file change Codex gives none, so a guarded path counts as the reason.
 */
export function blockIn(
  item: StreamObject,
  isGuarded: (path: string) => boolean,
): (Blocked & { fromOutput?: true }) | undefined {
  if (item.status === 'declined')
    return { reason: 'declined by codex', path: undefined, isNetwork: item.type === 'web_search' };
  if (item.status !== 'failed') return undefined;
  if (item.type === 'command_execution') {
    const blocked = blockedIn(textIn(item.aggregated_output) ?? '');
    return blocked && { ...blocked, fromOutput: true };
  }
  if (item.type !== 'file_change') return undefined;
  const path = listIn(item.changes)
    .map(change => textIn(objectIn(change)?.path))
    .find(one => one !== undefined && isGuarded(one));
  if (path === undefined) return undefined;
  return { reason: brief(`the change to ${path} failed`), path, isNetwork: false, fromOutput: true };
}

export function itemName(value: unknown): string {
  return nameIn(value) ?? UNNAMED;
}
