/** An agent's steps in one case, as a script that can be changed and played. */
import type { CaseArtifact, Event } from '../src/contracts/artifacts/index.ts';
import type { Chance } from './gate-suites.ts';

export interface ScriptedCall {
  readonly kind: 'call';
  readonly tool: string;
  readonly args: Record<string, unknown>;
  readonly reply: string;
  readonly status: 'ok' | 'error';
  /** Adjacent calls with the same number run concurrently. */
  readonly group: number;
}

export interface ScriptedRetrieval {
  readonly kind: 'retrieval';
  readonly query: string;
  readonly docs: readonly string[];
}

export type Scripted = ScriptedCall | ScriptedRetrieval;

export interface Script {
  readonly steps: readonly Scripted[];
  readonly output: string;
  /** Whether the output is also an event. */
  readonly isEvent: boolean;
  /** Whether arguments contain a unique id, and results a timestamp. */
  readonly isNoisy: boolean;
}

const TOOLS = [
  'orders.get',
  'orders.list',
  'users.find',
  'stock.check',
  'payments.list',
  'refunds.create',
  'mail.send',
];
const KEYS = ['order', 'user', 'sku', 'limit', 'currency'];
const TOPICS = ['refunds', 'delivery', 'warranty', 'invoices', 'returns'];

export const integer = (chance: Chance, below: number): number => Math.floor(chance() * below);
export const one = <T>(chance: Chance, list: readonly T[]): T => list[integer(chance, list.length)] as T;
export const happens = (chance: Chance, rate: number): boolean => chance() < rate;

/** Creates three to seven steps, some of them concurrent, and an output. */
export function script(chance: Chance): Script {
  const steps: Scripted[] = [];
  const length = 3 + integer(chance, 5);
  let group = 0;
  while (steps.length < length) {
    if (happens(chance, 0.15)) steps.push(retrieval(chance));
    else {
      group++;
      const together = happens(chance, 0.3) ? 2 : 1;
      for (let index = 0; index < together; index++) steps.push(call(chance, group));
    }
  }
  // Every cause needs a step that it can change.
  steps.push(call(chance, ++group), call(chance, ++group));
  if (!steps.some(({ kind }) => kind === 'retrieval')) steps.splice(integer(chance, 3), 0, retrieval(chance));
  return { steps, output: sentence(chance), isEvent: happens(chance, 0.4), isNoisy: happens(chance, 0.5) };
}

export function call(chance: Chance, group: number): ScriptedCall {
  const args: Record<string, unknown> = { [one(chance, KEYS)]: `K-${integer(chance, 10_000)}` };
  if (happens(chance, 0.5)) args['page'] = integer(chance, 20);
  return { kind: 'call', tool: one(chance, TOOLS), args, reply: facts(chance), status: 'ok', group };
}

export function retrieval(chance: Chance): ScriptedRetrieval {
  const docs = Array.from({ length: 2 + integer(chance, 4) }, () => `doc-${integer(chance, 1_000)}`);
  return { kind: 'retrieval', query: `how are ${one(chance, TOPICS)} handled`, docs: [...new Set(docs)] };
}

export const facts = (chance: Chance): string =>
  `${one(chance, TOPICS)}: ${integer(chance, 100_000)} in state ${integer(chance, 50)}`;

export const sentence = (chance: Chance): string =>
  `${one(chance, ['The answer is', 'We found', 'It is'])} ${integer(chance, 1_000_000)} for ${one(chance, TOPICS)}.`;

/** Plays a script with random ids, times and thoughts. The order of concurrent calls is random too. */
export function play(
  { steps, output, isEvent, isNoisy }: Script,
  version: 'baseline' | 'new',
  chance: Chance,
): CaseArtifact {
  const events: Event[] = [];
  let now = 1_767_700_000_000 + integer(chance, 1_000_000_000);
  for (let from = 0; from < steps.length; ) {
    if (happens(chance, 0.2)) events.push({ type: 'thought', ts: ++now, text: `hm ${integer(chance, 100)}` });
    const step = steps[from] as Scripted;
    if (step.kind === 'retrieval') {
      events.push({ type: 'retrieval', ts: (now += 5), query: step.query, doc_ids: [...step.docs] });
      from++;
      continue;
    }
    let to = from + 1;
    while (isTogether(step, steps[to])) to++;
    now = playTogether(steps.slice(from, to) as ScriptedCall[], events, now, isNoisy, chance);
    from = to;
  }
  if (isEvent) events.push({ type: 'final_output', ts: ++now, content_type: 'text', content: output });
  return {
    schema_version: 'case.v1',
    case_id: 'c',
    version,
    status: 'ok',
    proposed_actions: [],
    events,
    final_output: { content_type: 'text', content: output },
  };
}

function isTogether(first: ScriptedCall, next: Scripted | undefined): boolean {
  return next?.kind === 'call' && next.group === first.group;
}

/** Calls and results come in random order. Some agents write each result directly after its call. */
function playTogether(
  calls: readonly ScriptedCall[],
  events: Event[],
  from: number,
  isNoisy: boolean,
  chance: Chance,
): number {
  const asked = shuffled(calls, chance).map((call, index) => ({
    call,
    id: `call_${integer(chance, 1_000_000_000)}_${events.length}_${index}`,
    begins: from + 10 + index,
    ends: from + 50 + integer(chance, 400),
  }));
  const calling = ({ call: { tool, args }, id, begins }: (typeof asked)[number]): Event => ({
    type: 'tool_call',
    ts: begins,
    call_id: id,
    tool,
    args: isNoisy ? { ...args, trace_id: uuid(chance) } : args,
  });
  const answering = ({ call: { reply, status }, id, begins, ends }: (typeof asked)[number]): Event => ({
    type: 'tool_result',
    ts: ends,
    call_id: id,
    status,
    latency_ms: ends - begins,
    payload_summary: isNoisy ? { text: reply, at: new Date(ends).toISOString() } : reply,
  });
  if (happens(chance, 0.3)) events.push(...asked.flatMap(one => [calling(one), answering(one)]));
  else events.push(...asked.map(calling), ...shuffled(asked, chance).map(answering));
  return Math.max(...asked.map(({ ends }) => ends)) + 1;
}

function shuffled<T>(list: readonly T[], chance: Chance): T[] {
  return list
    .map(item => ({ item, key: chance() }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item);
}

export function uuid(chance: Chance): string {
  const hex = (length: number): string => Array.from({ length }, () => integer(chance, 16).toString(16)).join('');
  return `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`;
}
