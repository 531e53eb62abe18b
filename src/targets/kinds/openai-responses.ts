import type { ReplyMapping } from '../../contracts/target/mapping.ts';
import { type ApiKind, emptyWith, messageOf, stoppedEarly } from './kind.ts';

/** The Responses API. Calls of functions are proposals; the provider runs its own tools. */
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
        stoppedEarly(`${response}.incomplete_details.reason`),
        { path: `${response}.status`, map: { completed: '', incomplete: 'The answer is incomplete.' } },
      ],
    },
  };
}

/** Items that are not calls. Every other item counts as a call, so that calls of unknown tools stay visible. */
const NO_CALLS = ['message', 'reasoning', 'compaction', 'mcp_list_tools', 'mcp_approval_response', 'additional_tools'];

/** The results of calls that are items of their own. */
const OUTPUTS = [
  'function_call_output',
  'custom_tool_call_output',
  'computer_call_output',
  'local_shell_call_output',
  'shell_call_output',
  'apply_patch_call_output',
  'tool_search_output',
  'program_output',
];

function eventsIn(response: string): ReplyMapping['events'] {
  const isCall = [...NO_CALLS, ...OUTPUTS].map(type => `@.type!='${type}'`).join(' && ');
  const isOutput = OUTPUTS.map(type => `@.type=='${type}'`).join(' || ');
  return [
    {
      as: 'tool_call',
      each: `${response}.output[?@.name && ${isCall}]`,
      call_id: { first_of: ['@.call_id', '@.id'] },
      tool: '@.name',
      args: { first_of: [{ path: '@.arguments', parse: 'json' }, '@.input', { literal: {} }] },
    },
    // The provider's own tools have no name. Without known arguments, the call is shown whole.
    {
      as: 'tool_call',
      each: `${response}.output[?!@.name && ${isCall}]`,
      call_id: { first_of: ['@.call_id', '@.id'] },
      tool: '@.type',
      args: { first_of: ['@.action', '@.operation', '@'] },
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
      as: 'tool_result',
      each: `${response}.output[?${isOutput}]`,
      call_id: { first_of: ['@.call_id', '@.id'] },
      status: { first_of: [{ path: '@.status', map: { completed: 'ok' }, else: 'error' }, { literal: 'ok' }] },
      payload_summary: {
        first_of: [
          { path: '@.output', join: '' },
          { path: '@.result', join: '' },
        ],
      },
    },
  ];
}
