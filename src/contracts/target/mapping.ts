import * as z from 'zod/mini';
import { filledText, matching, record } from '../shape.ts';

/** A path of our subset of RFC 9535. The mapping compiler checks its syntax. */
const path = () => filledText().check(z.maxLength(1_000));

const flag = () => z.optional(z.literal(true));

/** The pieces that belong to an item: those whose `key` equals the item's `key_of_item`. Their values are joined. */
const collect = record({
  each: path(),
  key: path(),
  key_of_item: z.union([path(), record({ path: path(), last: flag() })]),
  value: path(),
});

/** The keys of a value. The compiler checks which of them go together. */
const valueKeys = {
  path: z.optional(path()),
  /** Joins all texts; numbers and booleans as JSON, without null. */
  join: z.optional(z.string().check(z.maxLength(20))),
  /** All values, as a list. */
  all: flag(),
  /** The last value that is not null; without this, the first. */
  last: flag(),
  /** The sum of all numbers. */
  sum: flag(),
  /** Reads a text as JSON. A text that is not JSON stays a text, and a blank one counts as missing. */
  parse: z.optional(z.enum(['json'])),
  /** Replaces the value, by its text. */
  map: z.optional(z.record(z.string(), z.unknown())),
  /** Replaces a value that `map` does not name. */
  else: z.optional(z.unknown()),
  literal: z.optional(z.unknown()),
  collect: z.optional(collect),
};

const single = z.union([path(), record(valueKeys)]);

const allKeys = {
  ...valueKeys,
  /** The first of these that finds something. */
  first_of: z.optional(z.array(single).check(z.minLength(1), z.maxLength(20))),
};

/** A value: the path to it, or one of the forms above. */
const value = z.union([path(), record(allKeys)]);

/** With an id, the JSON Schema contains each of these once. Inlined, they would fill a megabyte for all kinds of targets. */
z.globalRegistry.add(collect, { id: 'mapping_collect' });
z.globalRegistry.add(single, { id: 'mapping_single_value' });
z.globalRegistry.add(value, { id: 'mapping_value' });

const someValue = () => z.optional(value);

/** The final output: a value, or a `content_type` and its content. */
const output = () =>
  z.union([
    path(),
    record({ ...allKeys, content_type: z.optional(z.enum(['text', 'json'])), content: z.optional(value) }),
  ]);

const ruleKeys = { each: path(), ts: someValue(), id: someValue() };

const toolCallRule = record({
  as: z.literal('tool_call'),
  ...ruleKeys,
  call_id: someValue(),
  action_id: someValue(),
  tool: someValue(),
  args: someValue(),
  risk_level: someValue(),
  risk_tags: someValue(),
});

const toolResultRule = record({
  as: z.literal('tool_result'),
  ...ruleKeys,
  call_id: someValue(),
  action_id: someValue(),
  status: someValue(),
  latency_ms: someValue(),
  payload_summary: someValue(),
});

const retrievalRule = record({
  as: z.literal('retrieval'),
  ...ruleKeys,
  query: someValue(),
  doc_ids: someValue(),
  snippets_hashes: someValue(),
});

export const KNOWN_EVENT_TYPES = ['tool_call', 'tool_result', 'retrieval'] as const;

/** An event of another type, such as `message`, with any keys. */
const otherRule = z.catchall(
  record({
    as: matching(
      /^(?!(?:tool_call|tool_result|retrieval|final_output)$)\S{1,100}$/,
      'an event type of at most 100 characters without white space, other than final_output',
    ),
    each: path(),
  }),
  value,
);

const actionRule = record({
  each: path(),
  action_id: someValue(),
  action_type: someValue(),
  tool_name: someValue(),
  params: someValue(),
  risk_level: someValue(),
  risk_tags: someValue(),
  evidence_refs: someValue(),
});

const rules = <Rule extends z.ZodMiniType>(rule: Rule) => z.optional(z.array(rule).check(z.maxLength(50)));

/** How a reply, or a stream as a document, becomes the fields of a case artifact. */
export const mappingShape = record({
  final_output: output(),
  events: rules(z.union([toolCallRule, toolResultRule, retrievalRule, otherRule])),
  proposed_actions: rules(actionRule),
  workflow_id: someValue(),
  usage: z.optional(
    record({
      cost_usd: someValue(),
      total_tokens: someValue(),
      input_tokens: someValue(),
      output_tokens: someValue(),
    }),
  ),
  /** A value here means that the agent failed. */
  failed: someValue(),
  session: someValue(),
  model: someValue(),
});

export type ReplyMapping = z.infer<typeof mappingShape>;

export type ValueForm = z.infer<typeof value>;

export type SingleValue = z.infer<typeof single>;

export type OutputForm = z.infer<ReturnType<typeof output>>;

export type CollectForm = z.infer<typeof collect>;

export type EventRule = NonNullable<ReplyMapping['events']>[number];

export type ActionRule = NonNullable<ReplyMapping['proposed_actions']>[number];
