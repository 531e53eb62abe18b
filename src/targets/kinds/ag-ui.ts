import type { ReplyMapping } from '../../contracts/target/mapping.ts';
import type { ApiKind } from './kind.ts';

/** AG-UI: one request, and a stream of events. `RUN_ERROR` is a failure. */
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
  reply: () => ({ as: 'sse', mapping: MAPPING, firstOutput: '$.data.delta' }),
};

const MAPPING: ReplyMapping = {
  final_output: {
    path: "$.frames[?@.data.type=='TEXT_MESSAGE_CONTENT' || @.data.type=='TEXT_MESSAGE_CHUNK'].data.delta",
    join: '',
  },
  events: [
    {
      as: 'tool_call',
      each: "$.frames[?@.data.type=='TOOL_CALL_START']",
      ts: '@.at_ms',
      call_id: '@.data.toolCallId',
      tool: '@.data.toolCallName',
      args: {
        collect: {
          each: "$.frames[?@.data.type=='TOOL_CALL_ARGS']",
          key: '@.data.toolCallId',
          key_of_item: '@.data.toolCallId',
          value: '@.data.delta',
        },
        parse: 'json',
      },
    },
    {
      as: 'tool_result',
      each: "$.frames[?@.data.type=='TOOL_CALL_RESULT']",
      ts: '@.at_ms',
      call_id: '@.data.toolCallId',
      status: { literal: 'ok' },
      payload_summary: '@.data.content',
    },
  ],
  session: "$.frames[?@.data.type=='RUN_STARTED'].data.threadId",
  failed: "$.frames[?@.data.type=='RUN_ERROR'].data.message",
};
