import * as z from 'zod/mini';
import { type Finding, must } from '../rule.ts';
import { anyObject, filledText, matching, record } from '../shape.ts';
import { digest, milliseconds } from './words.ts';

export const riskLevel = () => z.enum(['high', 'medium', 'low', 'unknown']);

/** The final output, as a key of the response and as an event. */
export const outputKeys = {
  content_type: z.enum(['text', 'json']),
  content: z.union([z.string(), anyObject()]),
};

/** `id` is optional: an event can also be addressed by its index. */
const eventKeys = { ts: z.number(), id: z.optional(filledText()) };

const toolCall = record({
  type: z.literal('tool_call'),
  ...eventKeys,
  call_id: filledText(),
  action_id: z.optional(filledText()),
  tool: filledText(),
  args: anyObject(),
  risk_level: z.optional(riskLevel()),
  risk_tags: z.optional(z.array(z.string())),
});

const toolResult = record({
  type: z.literal('tool_result'),
  ...eventKeys,
  call_id: filledText(),
  action_id: z.optional(filledText()),
  status: z.enum(['ok', 'error']),
  latency_ms: milliseconds(),
  payload_summary: z.optional(z.union([z.string(), anyObject()])),
  payload_asset_href: z.optional(z.string()),
  payload_asset_sha256: z.optional(digest()),
});

const retrieval = record({
  type: z.literal('retrieval'),
  ...eventKeys,
  query: z.string(),
  doc_ids: z.array(filledText()),
  snippets_hashes: z.optional(z.array(z.string())),
  snippets_asset_href: z.optional(z.string()),
});

const finalOutput = record({ type: z.literal('final_output'), ...eventKeys, ...outputKeys });

/** Unknown event types are ignored, so their other keys may have any form. */
const otherEvent = z.intersection(
  anyObject(),
  z.object({
    type: matching(/^(?!(?:tool_call|tool_result|retrieval|final_output)$)/, 'an unknown type'),
    ts: z.number(),
  }),
);

type KnownType = 'tool_call' | 'tool_result' | 'retrieval' | 'final_output';

export const event = z.union([toolCall, toolResult, retrieval, finalOutput, otherEvent]);

export type Event = z.infer<typeof event>;

/** The events of one known type, each with its index in the full list. */
export function eventsOf<Type extends KnownType>(
  type: Type,
  events: readonly Event[],
): (readonly [number, Extract<Event, { type: Type }>])[] {
  const found: (readonly [number, Extract<Event, { type: Type }>])[] = [];
  for (let index = 0; index < events.length; index++) {
    const event = events[index] as Event;
    if (isOf(type, event)) found.push([index, event]);
  }
  return found;
}

function isOf<Type extends KnownType>(type: Type, event: Event): event is Extract<Event, { type: Type }> {
  return event.type === type;
}

/** Checks that content of type `text` is a string, and of type `json` an object. */
export function* contentFits(
  { content_type, content }: z.infer<z.ZodMiniObject<typeof outputKeys>>,
  path: string,
): Generator<Finding> {
  const isText = typeof content === 'string';
  if (content_type === 'text' && !isText) {
    yield must(`${path}.content`, 'must be a string if content_type is "text"');
  }
  if (content_type === 'json' && isText) {
    yield must(`${path}.content`, 'must be an object if content_type is "json"');
  }
}
