import { isObject } from '../contracts/kind.ts';

/**
 * Lenient reading: a fixed list of named repairs for replies that break the contract in a known way. A repair fills in
 * or renames a form; it never invents an answer, evidence or a success, so no expectation becomes easier to meet.
 */

/** Each repair, and the fault it repairs. */
export const REPLY_REPAIRS = {
  R1: 'an event without ts gets its position',
  R2: 'args of a tool call that are missing or not an object',
  R3: 'a tool call without call_id gets a new one',
  R4: 'a tool result whose status is in other words',
  R5: 'a payload_summary that is neither a string nor an object',
  R6: 'an action without risk_tags, evidence_refs or tool_name',
  R7: 'an action without a known risk_level gets "unknown"',
  R8: 'a final_output that is a bare string or object',
  R9: 'a tool result without latency_ms',
  R10: 'a retrieval reference with id instead of doc_id',
} as const;

export type RepairId = keyof typeof REPLY_REPAIRS;

/** How often each repair was applied. */
export type RepairCounts = Partial<Record<RepairId, number>>;

type Fields = Record<string, unknown>;

/** The parts of a reply that repairs apply to. */
export interface Repairable {
  events?: unknown;
  proposed_actions?: unknown;
  final_output?: unknown;
}

/** Repairs a reply in place. Everything that no repair covers stays as it is, and fails the contract. */
export function repair(reply: Repairable): RepairCounts {
  const counts: RepairCounts = {};
  const count = (id: RepairId): void => {
    counts[id] = (counts[id] ?? 0) + 1;
  };
  const ids = new FreshIds(reply);
  for (const [index, event] of listOf(reply.events).entries()) {
    if (isObject(event)) repairEvent(event, index, ids, count);
  }
  for (const action of listOf(reply.proposed_actions)) if (isObject(action)) repairAction(action, count);
  const output = wrapped(reply.final_output);
  if (output) {
    reply.final_output = output;
    count('R8');
  }
  return counts;
}

type Count = (id: RepairId) => void;

function repairEvent(event: Fields, index: number, ids: FreshIds, count: Count): void {
  if (typeof event['ts'] !== 'number') {
    event['ts'] = index;
    count('R1');
  }
  if (event['type'] === 'tool_call') repairCall(event, index, ids, count);
  if (event['type'] === 'tool_result') repairResult(event, count);
}

function repairCall(call: Fields, index: number, ids: FreshIds, count: Count): void {
  if (!isObject(call['args'])) {
    call['args'] = call['args'] === undefined || call['args'] === null ? {} : { input: call['args'] };
    count('R2');
  }
  if (call['call_id'] === undefined || call['call_id'] === null || call['call_id'] === '') {
    call['call_id'] = ids.next(index);
    count('R3');
  }
}

function repairResult(result: Fields, count: Count): void {
  const status = statusOf(result);
  if (status !== undefined && result['status'] !== status) {
    result['status'] = status;
    count('R4');
  }
  const { payload_summary: summary } = result;
  if (summary !== undefined && typeof summary !== 'string' && !isObject(summary)) {
    result['payload_summary'] = { value: summary };
    count('R5');
  }
  if (result['latency_ms'] === undefined || result['latency_ms'] === null) {
    result['latency_ms'] = 0;
    count('R9');
  }
}

/** A known status; undefined if there is none. A result that states nothing is never taken as a success. */
function statusOf({ status, is_error: isError }: Fields): 'ok' | 'error' | undefined {
  if (status === 'ok' || status === 'error') return status;
  const word = typeof status === 'string' ? status.toLowerCase() : status;
  if (word === undefined || word === null) {
    return typeof isError === 'boolean' ? (isError ? 'error' : 'ok') : undefined;
  }
  // A success that also states an error contradicts itself, so it stays as it is.
  if (OK_WORDS.has(word)) return isError === true ? undefined : 'ok';
  return ERROR_WORDS.has(word) ? 'error' : undefined;
}

const OK_WORDS: ReadonlySet<unknown> = new Set(['ok', 'success', 'succeeded', 'successful', 'completed', true]);
const ERROR_WORDS: ReadonlySet<unknown> = new Set([
  'error',
  'failure',
  'failed',
  'errored',
  'exception',
  'timeout',
  'timed_out',
  false,
]);

function repairAction(action: Fields, count: Count): void {
  const lacks = ['risk_tags', 'evidence_refs'].filter(key => action[key] === undefined || action[key] === null);
  for (const key of lacks) action[key] = [];
  const needsTool = action['tool_name'] === undefined && typeof action['action_type'] === 'string';
  if (needsTool) action['tool_name'] = action['action_type'];
  if (lacks.length > 0 || needsTool) count('R6');
  if (!RISK_LEVELS.has(action['risk_level'])) {
    action['risk_level'] = 'unknown';
    count('R7');
  }
  if (!Array.isArray(action['evidence_refs'])) return;
  for (const ref of action['evidence_refs']) {
    if (!isObject(ref) || ref['kind'] !== 'retrieval_doc' || ref['doc_id'] !== undefined) continue;
    if (typeof ref['id'] !== 'string') continue;
    ref['doc_id'] = ref['id'];
    delete ref['id'];
    count('R10');
  }
}

const RISK_LEVELS: ReadonlySet<unknown> = new Set(['high', 'medium', 'low', 'unknown']);

/** The output with its content_type; undefined if it has one, if there is no output, or if it could mean two things. */
function wrapped(output: unknown): Fields | undefined {
  if (typeof output === 'string') return { content_type: 'text', content: output };
  if (!isObject(output) || Object.hasOwn(output, 'content_type')) return undefined;
  if (!Object.hasOwn(output, 'content')) return { content_type: 'json', content: output };
  // With other keys, content could be the answer or only a part of it.
  if (Object.keys(output).length > 1) return undefined;
  const { content } = output;
  if (typeof content === 'string') return { ...output, content_type: 'text' };
  return isObject(content) ? { ...output, content_type: 'json' } : undefined;
}

/** Ids that no event has and no action cites, so that no evidence becomes valid by accident. */
class FreshIds {
  readonly #taken = new Set<unknown>();

  constructor({ events, proposed_actions: actions }: Repairable) {
    for (const event of listOf(events)) if (isObject(event)) this.#taken.add(event['call_id']);
    for (const action of listOf(actions)) {
      for (const ref of isObject(action) ? listOf(action['evidence_refs']) : []) {
        if (isObject(ref)) this.#taken.add(ref['call_id']);
      }
    }
  }

  next(index: number): string {
    let id = `call_${index}`;
    while (this.#taken.has(id)) id += '_';
    this.#taken.add(id);
    return id;
  }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
