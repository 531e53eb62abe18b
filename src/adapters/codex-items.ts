import { clip } from '../base/clip.ts';
import { type AgentEvent, TEXT_BYTES_MAX } from '../contracts/agent-step/reading.ts';
import { brief, clipped, jsonOf, listIn, objectIn, type Said, textIn } from './said.ts';
import { EVENTS_MAX } from './stream.ts';

type Event<Kind extends AgentEvent['kind']> = AgentEvent & { readonly kind: Kind };

/** Items that do something, and so are calls of a tool. */
export function isTool(item: Said): boolean {
  return TOOLS.has(item.type as string);
}

/** The only tool that Codex leaves running while it goes on. */
export const COMMAND = 'command_execution';

const TOOLS: ReadonlySet<string> = new Set([COMMAND, 'file_change', 'mcp_tool_call', 'collab_tool_call', 'web_search']);

export function callOf(item: Said): Event<'tool_call'> {
  const command = textIn(item.command);
  const path = textIn(objectIn(listIn(item.changes)[0])?.path);
  return {
    kind: 'tool_call',
    call: nameOf(item.id),
    tool: toolOf(item),
    input: clipped(jsonOf(inputOf(item))),
    ...(command !== undefined && { command: clipped(command) }),
    ...(path !== undefined && path !== '' && { path: brief(path, PATH_BYTES_MAX) }),
  };
}

/** Codex has no names for its own tools but the types of their items. */
function toolOf(item: Said): string {
  if (item.type !== 'mcp_tool_call') return nameOf(item.type);
  return nameOf(`${textIn(item.server) ?? ''}.${textIn(item.tool) ?? ''}`);
}

function inputOf(item: Said): unknown {
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

export function outcomeOf(item: Said, call: string): Event<'tool_result'> {
  const code = item.exit_code;
  const exit_code = Number.isSafeInteger(code) ? (code as number) : null;
  const isFailed = item.status === 'failed' || item.status === 'declined' || (exit_code !== null && exit_code !== 0);
  return { kind: 'tool_result', call, ok: !isFailed, output: clipped(outputOf(item)), exit_code };
}

function outputOf(item: Said): string {
  if (item.type === 'command_execution') return textIn(item.aggregated_output) ?? '';
  const error = textIn(objectIn(item.error)?.message);
  if (error !== undefined) return error;
  return item.result === undefined || item.result === null ? '' : jsonOf(item.result);
}

export function* changesOf(item: Said): Generator<AgentEvent> {
  if (item.type !== 'file_change') return;
  for (const one of listIn(item.changes).slice(0, EVENTS_MAX)) {
    const change = objectIn(one);
    const path = textIn(change?.path);
    const kind = change?.kind;
    if (path === undefined || path === '') continue;
    if (kind !== 'add' && kind !== 'update' && kind !== 'delete') continue;
    yield { kind: 'file_change', path: brief(path, PATH_BYTES_MAX), change: kind };
  }
}

interface Block {
  readonly reason: string;
  readonly path: string | undefined;
  readonly isNetwork: boolean;
}

/**
 * What kept an item from doing what it set out to. Codex says so only of calls that it declined. What a sandbox blocks
 * is, to Codex, output like any other: it is known by the words of the system alone, so a program that prints those
 * words looks blocked, and a blocked one that prints none, or that Codex makes no item of, does not. Whether anything
 * was changed that may not be is for the work folder to tell.
 */
export function blockIn(item: Said): Block | undefined {
  if (item.status === 'declined')
    return { reason: 'declined by codex', path: undefined, isNetwork: item.type === 'web_search' };
  if (item.type !== 'command_execution') return undefined;
  const { text } = clip(textIn(item.aggregated_output) ?? '', TEXT_BYTES_MAX);
  const isFailed = item.status === 'failed';
  const pattern = BLOCKS.find(one => (isFailed || one.evenIfOk) && one.words.test(text));
  if (!pattern) return undefined;
  const at = text.search(pattern.words);
  const from = text.lastIndexOf('\n', at - 1) + 1;
  const end = text.indexOf('\n', at + 1);
  // Of a long line the end tells what happened.
  const line = text
    .slice(from, end < 0 ? undefined : end)
    .trim()
    .slice(-LINE_UNITS_MAX);
  return { reason: brief(line), path: READ_ONLY_PATH.exec(line)?.[1], isNetwork: NETWORK.test(line) };
}

const LINE_UNITS_MAX = 300;

/** Most programs end a line with the words of the system; Python and Node have their own form. */
const BLOCKS: readonly { readonly words: RegExp; readonly evenIfOk: boolean }[] = [
  { words: /: Read-only file system(?: \(os error 30\))?\r?$/m, evenIfOk: true },
  { words: /: Operation not permitted(?: \(os error 1\))?\r?$/m, evenIfOk: true },
  { words: /^(?:bwrap: |error building bubblewrap command)/m, evenIfOk: true },
  { words: /\[Errno (?:1|30)\]|\b(?:EROFS: read-only file system|EPERM: operation not permitted)\b/, evenIfOk: false },
  {
    words: /: Network is unreachable\b|\bCould not resolve host: |Temporary failure in name resolution/,
    evenIfOk: false,
  },
  { words: /\blandlock\b.{0,80}\b(?:denied|failed|restrict)/i, evenIfOk: false },
];

/** What a program says that got no socket, no way or no name. */
const NETWORK = /\b(?:socket|connect): |: Network is unreachable\b|resolve host: |name resolution/;

const READ_ONLY_PATH = /([^\s:]{1,300}): Read-only file system/;

export function nameOf(value: unknown): string {
  return brief(textIn(value) || 'unnamed', NAME_BYTES_MAX);
}

const NAME_BYTES_MAX = 256;
const PATH_BYTES_MAX = 4096;
