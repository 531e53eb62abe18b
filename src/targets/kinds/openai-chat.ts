import type { ReplyMapping } from '../../contracts/target/mapping.ts';
import type { ApiKind } from './kind.ts';

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
      ? { as: 'sse', mapping: STREAM, firstOutput: '$.data.choices[0].delta.content' }
      : { as: 'json', mapping: JSON_REPLY },
};

const JSON_REPLY: ReplyMapping = {
  final_output: { first_of: ['$.choices[0].message.content', '$.choices[0].message.refusal', { literal: '' }] },
  events: [
    {
      as: 'tool_call',
      each: '$.choices[0].message.tool_calls[*]',
      call_id: '@.id',
      tool: '@.function.name',
      args: { path: '@.function.arguments', parse: 'json' },
    },
  ],
  usage: {
    input_tokens: '$.usage.prompt_tokens',
    output_tokens: '$.usage.completion_tokens',
    total_tokens: '$.usage.total_tokens',
  },
  model: '$.model',
  failed: '$.error.message',
};

const STREAM: ReplyMapping = {
  final_output: { path: '$.frames[*].data.choices[0].delta.content', join: '' },
  events: [
    {
      as: 'tool_call',
      each: '$.frames[*].data.choices[0].delta.tool_calls[?@.id]',
      call_id: '@.id',
      tool: '@.function.name',
      args: {
        collect: {
          each: '$.frames[*].data.choices[0].delta.tool_calls[*]',
          key: '@.index',
          key_of_item: '@.index',
          value: '@.function.arguments',
        },
        parse: 'json',
      },
    },
  ],
  usage: {
    input_tokens: { path: '$.frames[*].data.usage.prompt_tokens', last: true },
    output_tokens: { path: '$.frames[*].data.usage.completion_tokens', last: true },
    total_tokens: { path: '$.frames[*].data.usage.total_tokens', last: true },
  },
  model: '$.frames[0].data.model',
  failed: '$.frames[*].data.error.message',
};
