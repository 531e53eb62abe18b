import type { ReplyMapping, ValueForm } from '../../contracts/target/mapping.ts';
import { type ApiKind, emptyWith, messageOf, stoppedEarly } from './kind.ts';

/** The Messages API. A tool result without `is_error` is a success, as the protocol says. */
export const anthropicMessagesKind: ApiKind<'anthropic-messages'> = {
  request: ({ model, system, stream, parameters }) => ({
    path: '/messages',
    headers: { 'anthropic-version': '2023-06-01' },
    body: {
      model,
      max_tokens: MAX_TOKENS,
      ...(system !== undefined && { system }),
      messages: [{ role: 'user', content: '${input.user}' }],
      ...(stream && { stream: true }),
      ...parameters,
    },
  }),
  reply: ({ stream }) =>
    stream
      ? { as: 'sse', mapping: STREAM, firstOutput: '$.data.delta.text', last: LAST }
      : { as: 'json', mapping: JSON_REPLY },
};

const LAST = "$.frames[?@.data.type=='message_stop']";

/** The API requires a limit. */
const MAX_TOKENS = 4_096;

/** Provider tools report an error as content with an error code. */
function okUnlessError(block: string): ValueForm {
  return {
    first_of: [
      { path: `${block}.content.error_code`, map: {}, else: 'error' },
      { path: `${block}.is_error`, map: { true: 'error', false: 'ok' } },
      { literal: 'ok' },
    ],
  };
}

function summaryOf(block: string): ValueForm {
  return { first_of: [{ path: `${block}.content[?@.type=='text'].text`, join: '\n' }, `${block}.content`] };
}

const JSON_REPLY: ReplyMapping = {
  final_output: { first_of: [{ path: "$.content[?@.type=='text'].text", join: '' }, emptyWith('$.role')] },
  events: [
    {
      as: 'tool_call',
      // Only calls have a name.
      each: '$.content[?@.name]',
      call_id: '@.id',
      tool: '@.name',
      args: '@.input',
    },
    {
      as: 'tool_result',
      each: '$.content[?@.tool_use_id]',
      call_id: '@.tool_use_id',
      status: okUnlessError('@'),
      payload_summary: summaryOf('@'),
    },
  ],
  usage: { input_tokens: '$.usage.input_tokens', output_tokens: '$.usage.output_tokens' },
  model: '$.model',
  failed: { first_of: [...messageOf('$.error'), stoppedEarly('$.stop_reason')] },
};

const STREAM: ReplyMapping = {
  final_output: {
    first_of: [
      { path: "$.frames[?@.data.type=='content_block_delta'].data.delta.text", join: '' },
      emptyWith("$.frames[?@.data.type=='message_start'].data.message.role"),
    ],
  },
  events: [
    {
      as: 'tool_call',
      each: "$.frames[?@.data.type=='content_block_start' && @.data.content_block.name]",
      ts: '@.at_ms',
      call_id: '@.data.content_block.id',
      tool: '@.data.content_block.name',
      args: {
        first_of: [
          {
            collect: {
              each: "$.frames[?@.data.type=='content_block_delta']",
              key: '@.data.index',
              key_of_item: '@.data.index',
              value: '@.data.delta.partial_json',
            },
            parse: 'json',
          },
          '@.data.content_block.input',
        ],
      },
    },
    {
      as: 'tool_result',
      each: "$.frames[?@.data.type=='content_block_start' && @.data.content_block.tool_use_id]",
      ts: '@.at_ms',
      call_id: '@.data.content_block.tool_use_id',
      status: okUnlessError('@.data.content_block'),
      payload_summary: summaryOf('@.data.content_block'),
    },
  ],
  usage: {
    input_tokens: "$.frames[?@.data.type=='message_start'].data.message.usage.input_tokens",
    output_tokens: { path: "$.frames[?@.data.type=='message_delta'].data.usage.output_tokens", last: true },
  },
  model: "$.frames[?@.data.type=='message_start'].data.message.model",
  failed: {
    first_of: [
      ...messageOf("$.frames[?@.data.type=='error'].data.error"),
      stoppedEarly("$.frames[?@.data.type=='message_delta'].data.delta.stop_reason"),
    ],
  },
};
