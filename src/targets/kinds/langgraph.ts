import type { ReplyMapping } from '../../contracts/target/mapping.ts';
import { type ApiKind, stoppedEarly } from './kind.ts';

/** A LangGraph server. Every attempt has a thread of its own, so the state holds only this conversation. */
export const langgraphKind: ApiKind<'langgraph'> = {
  request: ({ assistant, input }) => ({
    path: '/threads/${session.id}/runs/wait',
    body: {
      assistant_id: assistant,
      if_not_exists: 'create',
      input: input ?? { messages: [{ role: 'user', content: '${input.user}' }] },
    },
  }),
  reply: () => ({ as: 'json', mapping: MAPPING }),
};

/** The type of the last message, if it is not the agent's. */
const LAST_TYPE = "$[?@[-1].type && @[-1].type!='ai'][-1].type";
const LAST_ROLE = "$[?@[-1].role && @[-1].role!='ai' && @[-1].role!='assistant'][-1].role";
const NOT_THE_AGENT = 'The last message in the state is not from the agent.';

const MAPPING: ReplyMapping = {
  final_output: {
    first_of: [{ path: "$.messages[-1].content[?@.type=='text'].text", join: '' }, '$.messages[-1].content'],
  },
  events: [
    {
      as: 'tool_call',
      each: '$.messages[*].tool_calls[*]',
      call_id: '@.id',
      tool: { first_of: ['@.name', '@.function.name'] },
      args: { first_of: ['@.args', { path: '@.function.arguments', parse: 'json' }] },
    },
    // Calls whose arguments are not JSON.
    {
      as: 'tool_call',
      each: '$.messages[*].invalid_tool_calls[*]',
      call_id: '@.id',
      tool: '@.name',
      args: '@.args',
    },
    {
      as: 'tool_result',
      each: "$.messages[?@.type=='tool']",
      call_id: '@.tool_call_id',
      status: { first_of: [{ path: '@.status', map: { success: 'ok' } }, { literal: 'ok' }] },
      payload_summary: '@.content',
    },
  ],
  usage: {
    input_tokens: { path: '$.messages[*].usage_metadata.input_tokens', sum: true },
    output_tokens: { path: '$.messages[*].usage_metadata.output_tokens', sum: true },
    total_tokens: { path: '$.messages[*].usage_metadata.total_tokens', sum: true },
  },
  model: { path: '$.messages[*].response_metadata.model_name', last: true },
  failed: {
    first_of: [
      '$.__error__.message',
      '$.__error__.error',
      '$.detail',
      // A graph that waits for a person has not answered.
      { path: '$.__interrupt__', map: {}, else: 'The graph waits for a person.' },
      { path: LAST_TYPE, map: {}, else: NOT_THE_AGENT },
      { path: LAST_ROLE, map: {}, else: NOT_THE_AGENT },
      stoppedEarly('$.messages[-1].response_metadata.finish_reason'),
      stoppedEarly('$.messages[-1].response_metadata.stop_reason'),
    ],
  },
};
