import type { ReplyMapping, ValueForm } from '../../contracts/target/mapping.ts';
import { type ApiKind, emptyWith } from './kind.ts';

/**
 * AG-UI: one request, and a stream of events. The last message is the output. `RUN_ERROR` is a failure,
 * and so is a run that was cancelled or waits for a person.
 */
export const agUiKind: ApiKind<'ag-ui'> = {
  request: ({ state }) => ({
    path: '',
    headers: { accept: 'text/event-stream' },
    body: {
      threadId: '${session.id}',
      runId: '${attempt.key}',
      messages: [{ id: '${attempt.key}', role: 'user', content: '${input.user}' }],
      state: state ?? {},
      tools: [],
      context: [],
      forwardedProps: {},
    },
  }),
  reply: () => ({ as: 'sse', mapping: MAPPING, firstOutput: FIRST_OUTPUT, last: FINISHED, repeats: true }),
};

const FIRST_OUTPUT = "$[?@.type=='TEXT_MESSAGE_CONTENT' || @.type=='TEXT_MESSAGE_CHUNK'].delta";

/** The arguments of a call, which come in pieces. */
const ARGUMENTS: ValueForm = {
  collect: {
    each: "$.frames[?@.data.type=='TOOL_CALL_ARGS' || @.data.type=='TOOL_CALL_CHUNK']",
    key: '@.data.toolCallId',
    key_of_item: '@.data.toolCallId',
    value: '@.data.delta',
  },
  parse: 'json',
};

const SNAPSHOTS = "$.frames[?@.data.type=='MESSAGES_SNAPSHOT']";

function okUnlessError(error: string): ValueForm {
  return { first_of: [{ path: error, join: '', map: {}, else: 'error' }, { literal: 'ok' }] };
}

const FINISHED = "$.frames[?@.data.type=='RUN_FINISHED'].data";

/** An outcome other than success: the run was cancelled, or waits for a person. */
const NO_SUCCESS =
  "$.frames[?@.data.type=='RUN_FINISHED' && @.data.outcome && @.data.outcome!=null && @.data.outcome!='success' && @.data.outcome.type!='success'].data.outcome";

const MAPPING: ReplyMapping = {
  final_output: {
    first_of: [
      {
        collect: {
          each: "$.frames[?@.data.type=='TEXT_MESSAGE_CONTENT']",
          key: '@.data.messageId',
          key_of_item: { path: "$.frames[?@.data.type=='TEXT_MESSAGE_START'].data.messageId", last: true },
          value: '@.data.delta',
        },
      },
      { path: "$.frames[?@.data.type=='TEXT_MESSAGE_CHUNK'].data.delta", join: '' },
      { path: `${SNAPSHOTS}.data.messages[?@.role=='assistant'].content`, last: true },
      emptyWith(`${FINISHED}.runId`),
    ],
  },
  events: [
    {
      as: 'tool_call',
      each: "$.frames[?@.data.type=='TOOL_CALL_START' || (@.data.type=='TOOL_CALL_CHUNK' && @.data.toolCallName)]",
      ts: '@.at_ms',
      call_id: '@.data.toolCallId',
      tool: '@.data.toolCallName',
      args: ARGUMENTS,
    },
    {
      as: 'tool_result',
      each: "$.frames[?@.data.type=='TOOL_CALL_RESULT']",
      ts: '@.at_ms',
      call_id: '@.data.toolCallId',
      status: okUnlessError('@.data.error'),
      payload_summary: '@.data.content',
    },
    // A snapshot repeats streamed calls, and also has those that were not streamed.
    {
      as: 'tool_call',
      each: `${SNAPSHOTS}.data.messages[*].toolCalls[*]`,
      ts: `${SNAPSHOTS}.at_ms`,
      call_id: '@.id',
      tool: '@.function.name',
      args: { path: '@.function.arguments', parse: 'json' },
    },
    {
      as: 'tool_result',
      each: `${SNAPSHOTS}.data.messages[?@.role=='tool']`,
      ts: `${SNAPSHOTS}.at_ms`,
      call_id: '@.toolCallId',
      status: okUnlessError('@.error'),
      payload_summary: '@.content',
    },
  ],
  usage: {
    input_tokens: { path: `${FINISHED}.usage[*].inputTokens`, sum: true },
    output_tokens: { path: `${FINISHED}.usage[*].outputTokens`, sum: true },
    total_tokens: { path: `${FINISHED}.usage[*].totalTokens`, sum: true },
  },
  model: { path: `${FINISHED}.usage[*].model`, last: true },
  session: "$.frames[?@.data.type=='RUN_STARTED'].data.threadId",
  failed: {
    first_of: [
      "$.frames[?@.data.type=='RUN_ERROR'].data.message",
      "$.frames[?@.data.type=='RUN_ERROR'].data.type",
      `${NO_SUCCESS}.type`,
      NO_SUCCESS,
      // How agents on LangGraph ask a person.
      "$.frames[?@.data.type=='CUSTOM' && @.data.name=='on_interrupt'].data.name",
    ],
  },
};
