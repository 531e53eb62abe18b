import type { ReplyMapping } from '../../contracts/target/mapping.ts';
import { type ApiKind, emptyWith, messageOf, stoppedEarly } from './kind.ts';

/** Chat completions. A bare model only proposes tool calls; nothing runs them. */
export const openaiChatKind: ApiKind<'openai-chat'> = {
  request: ({ model, system, stream, parameters }) => ({
    path: '/chat/completions',
    body: {
      model,
      messages: [
        ...(system === undefined ? [] : [{ role: 'system', content: system }]),
        { role: 'user', content: '${input.user}' },
      ],
      ...(stream && { stream: true, stream_options: { include_usage: true } }),
      ...parameters,
    },
  }),
  reply: ({ stream }) =>
    stream
      ? { as: 'sse', mapping: STREAM, firstOutput: '$.data.choices[0].delta.content', last: LAST }
      : { as: 'json', mapping: JSON_REPLY },
};

/** Some servers send no `[DONE]`, and some no reason. A reason is null until the end. */
const LAST =
  "$.frames[?@.data=='[DONE]' || (@.data.choices[0].finish_reason && @.data.choices[0].finish_reason!=null)]";

const JSON_REPLY: ReplyMapping = {
  final_output: {
    first_of: [
      { path: '$.choices[0].message.content', join: '' },
      { path: '$.choices[0].message.refusal', join: '' },
      emptyWith('$.choices[0].message.role'),
    ],
  },
  events: [
    {
      as: 'tool_call',
      each: '$.choices[0].message.tool_calls[*]',
      call_id: '@.id',
      tool: { first_of: ['@.function.name', '@.custom.name'] },
      args: { first_of: [{ path: '@.function.arguments', parse: 'json' }, '@.custom.input'] },
    },
    // The single call of a message, in the older form without tool_calls.
    {
      as: 'tool_call',
      each: '$.choices[0].message[?@.name && @.arguments]',
      tool: '@.name',
      args: { path: '@.arguments', parse: 'json' },
    },
  ],
  usage: {
    input_tokens: '$.usage.prompt_tokens',
    output_tokens: '$.usage.completion_tokens',
    total_tokens: '$.usage.total_tokens',
  },
  model: '$.model',
  failed: { first_of: [...messageOf('$.error'), stoppedEarly('$.choices[0].finish_reason')] },
};

/** The first piece of a call has its name. Some servers send no id, and some repeat the name as null or empty. */
const isText = (path: string): string => `(${path} && ${path}!=null && ${path}!='')`;

function piecesOf(value: string) {
  const each = '$.frames[*].data.choices[0].delta.tool_calls[*]';
  return { each, key: '@.index', key_of_item: '@.index', value };
}

const STREAM: ReplyMapping = {
  final_output: {
    first_of: [
      { path: '$.frames[*].data.choices[0].delta.content', join: '' },
      { path: '$.frames[*].data.choices[0].delta.refusal', join: '' },
      emptyWith('$.frames[*].data.choices[0].delta.role'),
    ],
  },
  events: [
    {
      as: 'tool_call',
      each: `$.frames[*].data.choices[0].delta.tool_calls[?${isText('@.function.name')} || ${isText('@.custom.name')}]`,
      call_id: '@.id',
      tool: { first_of: ['@.function.name', '@.custom.name'] },
      args: {
        first_of: [
          { collect: piecesOf('@.function.arguments'), parse: 'json' },
          { collect: piecesOf('@.custom.input') },
          // Some servers send whole calls without an index.
          { path: '@.function.arguments', parse: 'json' },
        ],
      },
    },
    {
      as: 'tool_call',
      each: `$.frames[*].data.choices[0].delta[?${isText('@.name')} && @.arguments]`,
      tool: '@.name',
      args: { path: '$.frames[*].data.choices[0].delta.function_call.arguments', join: '', parse: 'json' },
    },
  ],
  usage: {
    input_tokens: { path: '$.frames[*].data.usage.prompt_tokens', last: true },
    output_tokens: { path: '$.frames[*].data.usage.completion_tokens', last: true },
    total_tokens: { path: '$.frames[*].data.usage.total_tokens', last: true },
  },
  model: '$.frames[*].data.model',
  failed: {
    first_of: [...messageOf('$.frames[*].data.error'), stoppedEarly('$.frames[*].data.choices[0].finish_reason')],
  },
};
