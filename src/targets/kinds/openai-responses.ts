import type { ReplyMapping } from '../../contracts/target/mapping.ts';
import { type ApiKind, emptyWith, messageOf } from './kind.ts';

/** The Responses API. Function calls are proposals; calls of the provider's MCP and search tools have results. */
export const openaiResponsesKind: ApiKind<'openai-responses'> = {
  request: ({ model, system, stream, parameters }) => ({
    path: '/responses',
    body: {
      model,
      input: '${input.user}',
      ...(system !== undefined && { instructions: system }),
      ...(stream && { stream: true }),
      ...parameters,
    },
  }),
  reply: ({ stream }) =>
    stream
      ? {
          as: 'sse',
          mapping: below(LAST_EVENTS),
          firstOutput: "$[?@.type=='response.output_text.delta' || @.type=='response.refusal.delta'].delta",
        }
      : { as: 'json', mapping: below('$') },
};

const LAST_EVENTS =
  "$.frames[?@.data.type=='response.completed' || @.data.type=='response.incomplete' || @.data.type=='response.failed'].data.response";

/** The mapping of a response, which a stream repeats whole in its last event. */
function below(response: string): ReplyMapping {
  return {
    final_output: {
      first_of: [
        { path: `${response}.output[?@.type=='message'].content[?@.type=='output_text'].text`, join: '' },
        { path: `${response}.output[?@.type=='message'].content[?@.type=='refusal'].refusal`, join: '' },
        emptyWith(`${response}.output[*].type`),
      ],
    },
    events: eventsIn(response),
    usage: {
      input_tokens: `${response}.usage.input_tokens`,
      output_tokens: `${response}.usage.output_tokens`,
      total_tokens: `${response}.usage.total_tokens`,
    },
    model: `${response}.model`,
    failed: {
      first_of: [
        ...messageOf(`${response}.error`),
        ...messageOf('$.error'),
        "$.frames[?@.data.type=='error'].data.message",
        "$.frames[?@.data.type=='error'].data.type",
        { path: `${response}.status`, map: { completed: '', incomplete: '' } },
      ],
    },
  };
}

function eventsIn(response: string): ReplyMapping['events'] {
  return [
    {
      as: 'tool_call',
      each: `${response}.output[?@.type=='function_call' || @.type=='custom_tool_call']`,
      call_id: '@.call_id',
      tool: '@.name',
      args: { first_of: [{ path: '@.arguments', parse: 'json' }, '@.input'] },
    },
    {
      as: 'tool_call',
      each: `${response}.output[?@.type=='mcp_call']`,
      call_id: '@.id',
      tool: '@.name',
      args: { path: '@.arguments', parse: 'json' },
    },
    {
      as: 'tool_result',
      each: `${response}.output[?@.type=='mcp_call']`,
      call_id: '@.id',
      status: {
        first_of: [
          { path: '@.error', join: '', map: {}, else: 'error' },
          { path: '@.status', map: { completed: 'ok' }, else: 'error' },
          { literal: 'ok' },
        ],
      },
      payload_summary: {
        first_of: [
          { path: '@.output', join: '' },
          { path: '@.error', join: '' },
        ],
      },
    },
    {
      as: 'tool_call',
      each: `${response}.output[?@.type=='web_search_call' || @.type=='file_search_call']`,
      call_id: '@.id',
      tool: '@.type',
      args: { first_of: ['@.action', { literal: {} }] },
    },
  ];
}
