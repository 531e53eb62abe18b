import { canonicalize } from '../base/canonical.ts';
import { clip } from '../base/clip.ts';
import { printable } from '../base/printable.ts';
import { contentHashOf } from '../contracts/artifacts/words.ts';
import { type CaseArtifact, type Event, eventsOf } from '../contracts/artifacts/index.ts';

type Of<Type extends string> = Extract<Event, { type: Type }>;

/** An event that says something of what the agent did, without when it was and under which id. */
export type Step =
  | { readonly kind: 'tool_call'; readonly at: number; readonly tool: string; readonly args: object }
  | {
      readonly kind: 'tool_result';
      readonly at: number;
      /** The tool whose answer it is; empty where the call is not among the events. */
      readonly tool: string;
      readonly status: 'ok' | 'error';
      readonly payload: string;
    }
  | {
      readonly kind: 'retrieval';
      readonly at: number;
      readonly query: string;
      readonly docs: readonly string[];
      readonly snippets: string;
    }
  | { readonly kind: 'final_output'; readonly at: number; readonly content: string };

/** The steps of an agent in the order of its events. Events of other types are somebody else's business. */
export function stepsOf({ events = [] }: Pick<CaseArtifact, 'events'>): Step[] {
  const calls = new Map<string, { readonly number: number; readonly tool: string }>();
  for (const [, { call_id, tool }] of eventsOf('tool_call', events)) {
    if (!calls.has(call_id)) calls.set(call_id, { number: calls.size, tool });
  }
  const steps: (Step & { readonly number: number })[] = [];
  for (const [at, event] of events.entries()) {
    const step = stepOf(event, at, calls);
    if (step) steps.push(step);
  }
  return inOrderOfCalls(steps);
}

/** What two steps must have in common to be the same. */
export function signatureOf(step: Step): string {
  const { at: _, ...told } = step;
  return canonicalize(told);
}

function stepOf(
  event: Event,
  at: number,
  calls: ReadonlyMap<string, { readonly number: number; readonly tool: string }>,
): (Step & { number: number }) | undefined {
  switch (event.type) {
    case 'tool_call': {
      const { tool, args } = event as Of<'tool_call'>;
      return { kind: 'tool_call', at, tool, args, number: -1 };
    }
    case 'tool_result': {
      const { call_id, status, payload_summary, payload_asset_sha256: digest } = event as Of<'tool_result'>;
      const call = calls.get(call_id);
      const summary = payload_summary === undefined ? '' : canonicalize(payload_summary);
      const payload = digest === undefined ? summary : contentHashOf(digest);
      return { kind: 'tool_result', at, tool: call?.tool ?? '', status, payload, number: call?.number ?? calls.size };
    }
    case 'retrieval': {
      const { query, doc_ids, snippets_hashes = [] } = event as Of<'retrieval'>;
      return { kind: 'retrieval', at, query, docs: doc_ids, snippets: snippets_hashes.join(' '), number: -1 };
    }
    case 'final_output':
      return { kind: 'final_output', at, content: canonicalize((event as Of<'final_output'>).content), number: -1 };
    default:
      return undefined;
  }
}

/** Answers to calls that were made together come in the order of the clock; here they stand in the order of the calls. */
function inOrderOfCalls(steps: readonly (Step & { readonly number: number })[]): Step[] {
  const ordered: Step[] = [];
  let from = 0;
  while (from < steps.length) {
    let to = from + 1;
    if (steps[from]?.kind === 'tool_result') while (steps[to]?.kind === 'tool_result') to++;
    for (const { number: _, ...step } of steps.slice(from, to).sort((a, b) => a.number - b.number)) {
      ordered.push(step);
    }
    from = to;
  }
  return ordered;
}

/** Keys of two objects that differ, sorted; whether they are new, gone or changed is for whoever reads the events. */
export function differingKeys(before: object, now: object): string[] {
  const was = before as Record<string, unknown>;
  const is = now as Record<string, unknown>;
  return [...new Set([...Object.keys(was), ...Object.keys(is)])]
    .filter(key => textOf(was, key) !== textOf(is, key))
    .sort();
}

function textOf(object: Record<string, unknown>, key: string): string | undefined {
  return Object.hasOwn(object, key) ? canonicalize(object[key]) : undefined;
}

/** A word of the agent's in a sentence of ours: short, in quotes of its own, and none of its characters is a quote. */
export function quoted(word: string): string {
  const { text, truncated } = clip(word.replace(QUOTES, "'"), WORD_BYTES_MAX);
  return `“${printable(text)}${truncated ? '…' : ''}”`;
}

/** At most three of them, and how many more there are. */
export function quotedList(words: readonly string[]): string {
  const shown = words.slice(0, WORDS_MAX).map(quoted);
  const rest = words.length - shown.length;
  return rest > 0 ? `${shown.join(', ')} and ${rest} more` : shown.join(', ');
}

const QUOTES = /[“”]/g;
const WORD_BYTES_MAX = 60;
const WORDS_MAX = 3;
