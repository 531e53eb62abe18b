import type { ReplyMapping, ValueForm } from '../../../src/contracts/target/mapping.ts';

/** The mappings of the built-in kinds, as far as the tests of the language need them. */
const OK_UNLESS_ERROR: ValueForm = {
  first_of: [
    { path: '@.content.error_code', map: {}, else: 'error' },
    { path: '@.is_error', map: { true: 'error', false: 'ok' } },
    { literal: 'ok' },
  ],
};

const openaiChat: ReplyMapping = {
  final_output: { first_of: ['$.choices[0].message.content', '$.choices[0].message.refusal'] },
  events: [
    {
      each: '$.choices[0].message.tool_calls[*]',
      as: 'tool_call',
      call_id: '@.id',
      tool: { first_of: ['@.function.name', '@.custom.name'] },
      args: { first_of: [{ path: '@.function.arguments', parse: 'json' }, '@.custom.input'] },
    },
  ],
  usage: {
    input_tokens: '$.usage.prompt_tokens',
    output_tokens: '$.usage.completion_tokens',
    total_tokens: '$.usage.total_tokens',
  },
  failed: '$.error.message',
  model: '$.model',
};

const openaiChatStream: ReplyMapping = {
  final_output: { path: '$.frames[*].data.choices[0].delta.content', join: '' },
  events: [
    {
      each: '$.frames[*].data.choices[0].delta.tool_calls[?@.id]',
      as: 'tool_call',
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
  failed: '$.frames[*].data.error.message',
  model: '$.frames[*].data.model',
};

const openaiResponses: ReplyMapping = {
  final_output: { path: "$.output[?@.type=='message'].content[?@.type=='output_text'].text", join: '' },
  events: [
    {
      each: "$.output[?@.type=='function_call' || @.type=='custom_tool_call']",
      as: 'tool_call',
      call_id: '@.call_id',
      tool: '@.name',
      args: { first_of: [{ path: '@.arguments', parse: 'json' }, '@.input'] },
    },
    {
      each: "$.output[?@.type=='mcp_call']",
      as: 'tool_call',
      call_id: '@.id',
      tool: '@.name',
      args: { path: '@.arguments', parse: 'json' },
    },
    {
      each: "$.output[?@.type=='mcp_call']",
      as: 'tool_result',
      call_id: '@.id',
      status: { first_of: [{ path: '@.error', map: {}, else: 'error' }, { literal: 'ok' }] },
      payload_summary: { first_of: ['@.output', '@.error'] },
    },
    {
      each: "$.output[?@.type=='file_search_call']",
      as: 'retrieval',
      query: '@.queries[0]',
      doc_ids: { path: '@.results[*].file_id', all: true },
    },
  ],
  usage: {
    input_tokens: '$.usage.input_tokens',
    output_tokens: '$.usage.output_tokens',
    total_tokens: '$.usage.total_tokens',
  },
  failed: '$.error.message',
  session: '$.id',
  model: '$.model',
};

const openaiResponsesStream: ReplyMapping = {
  final_output: { path: "$.frames[?@.data.type=='response.output_text.delta'].data.delta", join: '' },
  events: [
    {
      each: "$.frames[?@.data.type=='response.output_item.done' && @.data.item.type=='function_call']",
      as: 'tool_call',
      ts: '@.at_ms',
      call_id: '@.data.item.call_id',
      tool: '@.data.item.name',
      args: { path: '@.data.item.arguments', parse: 'json' },
    },
  ],
  usage: { total_tokens: "$.frames[?@.data.type=='response.completed'].data.response.usage.total_tokens" },
  failed: {
    first_of: [
      "$.frames[?@.data.type=='response.failed'].data.response.error.message",
      "$.frames[?@.data.type=='error'].data.message",
    ],
  },
  session: "$.frames[?@.data.type=='response.created'].data.response.id",
  model: "$.frames[?@.data.type=='response.created'].data.response.model",
};

const anthropicMessages: ReplyMapping = {
  final_output: { path: "$.content[?@.type=='text'].text", join: '' },
  events: [
    { each: '$.content[?@.name && @.input]', as: 'tool_call', call_id: '@.id', tool: '@.name', args: '@.input' },
    {
      each: '$.content[?@.tool_use_id]',
      as: 'tool_result',
      call_id: '@.tool_use_id',
      status: OK_UNLESS_ERROR,
      payload_summary: '@.content',
    },
  ],
  usage: { input_tokens: '$.usage.input_tokens', output_tokens: '$.usage.output_tokens' },
  failed: '$.error.message',
  model: '$.model',
};

const anthropicStream: ReplyMapping = {
  final_output: { path: "$.frames[?@.data.delta.type=='text_delta'].data.delta.text", join: '' },
  events: [
    {
      each: "$.frames[?@.data.type=='content_block_start' && @.data.content_block.input]",
      as: 'tool_call',
      ts: '@.at_ms',
      call_id: '@.data.content_block.id',
      tool: '@.data.content_block.name',
      args: {
        first_of: [
          {
            collect: {
              each: "$.frames[?@.data.delta.type=='input_json_delta']",
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
  ],
  usage: {
    input_tokens: "$.frames[?@.data.type=='message_start'].data.message.usage.input_tokens",
    output_tokens: { path: "$.frames[?@.data.type=='message_delta'].data.usage.output_tokens", last: true },
  },
  failed: "$.frames[?@.data.type=='error'].data.error.message",
  model: "$.frames[?@.data.type=='message_start'].data.message.model",
};

const langgraph: ReplyMapping = {
  final_output: {
    first_of: [{ path: "$.messages[-1].content[?@.type=='text'].text", join: '' }, '$.messages[-1].content'],
  },
  events: [
    {
      each: "$.messages[?@.type=='ai'].tool_calls[*]",
      as: 'tool_call',
      call_id: '@.id',
      tool: '@.name',
      args: '@.args',
    },
    {
      each: "$.messages[?@.type=='tool']",
      as: 'tool_result',
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
  failed: '$.__error__.message',
  model: '$.messages[-1].response_metadata.model_name',
};

const MESSAGES_OF_UPDATES = "$.frames[?@.event=='updates'].data[*].messages";

const langgraphStream: ReplyMapping = {
  final_output: { path: `${MESSAGES_OF_UPDATES}[?@.type=='ai'].content`, last: true },
  events: [
    {
      each: `${MESSAGES_OF_UPDATES}[?@.type=='ai'].tool_calls[*]`,
      as: 'tool_call',
      call_id: '@.id',
      tool: '@.name',
      args: '@.args',
    },
    {
      each: `${MESSAGES_OF_UPDATES}[?@.type=='tool']`,
      as: 'tool_result',
      call_id: '@.tool_call_id',
      status: { path: '@.status', map: { success: 'ok' } },
      payload_summary: '@.content',
    },
  ],
  usage: { total_tokens: { path: `${MESSAGES_OF_UPDATES}[*].usage_metadata.total_tokens`, sum: true } },
  failed: "$.frames[?@.event=='error'].data.message",
};

const a2a: ReplyMapping = {
  final_output: {
    first_of: [
      { path: '$.result.task.artifacts[*].parts[*].text', join: '\n' },
      { path: '$.result.message.parts[*].text', join: '\n' },
      { path: '$.result.task.status.message.parts[*].text', join: '\n' },
      '$.result.task.artifacts[*].parts[*].data',
    ],
  },
  workflow_id: '$.result.task.id',
  failed: {
    first_of: [
      '$.error.message',
      "$.result[?@.status.state=='TASK_STATE_FAILED' || @.status.state=='TASK_STATE_REJECTED'].status.state",
    ],
  },
  session: { first_of: ['$.result.task.contextId', '$.result.message.contextId'] },
};

/** Version 0.3: the result itself is the task or the message. */
const a2aOld: ReplyMapping = {
  final_output: {
    first_of: [
      { path: "$.result.artifacts[*].parts[?@.kind=='text'].text", join: '\n' },
      { path: '$.result.parts[*].text', join: '\n' },
      { path: '$.result.status.message.parts[*].text', join: '\n' },
    ],
  },
  failed: { first_of: ['$.error.message', "$[?@.status.state=='failed'].status.state"] },
  session: '$.result.contextId',
};

const a2aStream: ReplyMapping = {
  final_output: {
    first_of: [
      { path: '$.frames[*].data.result.artifactUpdate.artifact.parts[*].text', join: '' },
      { path: '$.frames[*].data.result.message.parts[*].text', join: '' },
    ],
  },
  failed:
    "$.frames[?@.data.result.statusUpdate.status.state=='TASK_STATE_FAILED'].data.result.statusUpdate.status.state",
  session: '$.frames[*].data.result.task.contextId',
};

const agUi: ReplyMapping = {
  final_output: {
    collect: {
      each: "$.frames[?@.data.type=='TEXT_MESSAGE_CONTENT']",
      key: '@.data.messageId',
      key_of_item: { path: "$.frames[?@.data.type=='TEXT_MESSAGE_START'].data.messageId", last: true },
      value: '@.data.delta',
    },
  },
  events: [
    {
      each: "$.frames[?@.data.type=='TOOL_CALL_START']",
      as: 'tool_call',
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
      each: "$.frames[?@.data.type=='TOOL_CALL_RESULT']",
      as: 'tool_result',
      ts: '@.at_ms',
      call_id: '@.data.toolCallId',
      status: { literal: 'ok' },
      payload_summary: '@.data.content',
    },
  ],
  failed: "$.frames[?@.data.type=='RUN_ERROR'].data.message",
  session: "$.frames[?@.data.type=='RUN_STARTED'].data.threadId",
};

const mcpTool: ReplyMapping = {
  final_output: {
    first_of: ['$.result.structuredContent', { path: "$.result.content[?@.type=='text'].text", join: '\n' }],
  },
  failed: { first_of: ['$.error.message', "$[?@.isError==true].content[?@.type=='text'].text"] },
};

export const MAPPINGS = {
  openaiChat,
  openaiChatStream,
  openaiResponses,
  openaiResponsesStream,
  anthropicMessages,
  anthropicStream,
  langgraph,
  langgraphStream,
  a2a,
  a2aOld,
  a2aStream,
  agUi,
  mcpTool,
} as const satisfies Record<string, ReplyMapping>;
