/** Replies in the form of each protocol, written from their public documentation. */

/** A stream as a document; each frame arrives 10 ms after the one before. */
function streamOf(...data: unknown[]): { frames: { event: string; data: unknown; at_ms: number }[] } {
  return {
    frames: data.map((value, index) => {
      const { type = 'message' } = (typeof value === 'object' && value !== null ? value : {}) as { type?: string };
      return { event: type, data: value, at_ms: 10 * index };
    }),
  };
}

const chatDelta = (delta: object): object => ({ model: 'm-1', choices: [{ index: 0, delta }], usage: null });

export const OPENAI_CHAT = {
  id: 'c1',
  model: 'm-1',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: null,
        refusal: null,
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'orders.get', arguments: '{"id":"A-1"}' } },
          { id: 'call_2', type: 'function', function: { name: 'orders.list', arguments: '{"broken":' } },
          { id: 'call_3', type: 'custom', custom: { name: 'shell', input: 'ls' } },
        ],
      },
    },
  ],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
};

export const OPENAI_CHAT_STREAM = streamOf(
  chatDelta({ role: 'assistant', content: '' }),
  chatDelta({ content: 'Let me' }),
  chatDelta({ content: ' look.' }),
  chatDelta({ tool_calls: [{ index: 0, id: 'call_1', function: { name: 'orders.get', arguments: '' } }] }),
  chatDelta({ tool_calls: [{ index: 0, function: { arguments: '{"id":' } }] }),
  chatDelta({ tool_calls: [{ index: 1, id: 'call_2', function: { name: 'time.now', arguments: '' } }] }),
  chatDelta({ tool_calls: [{ index: 0, function: { arguments: '"A-1"}' } }] }),
  { model: 'm-1', choices: [], usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 } },
  '[DONE]',
);

export const OPENAI_RESPONSES = {
  id: 'resp_1',
  model: 'm-1',
  error: null,
  output: [
    { type: 'reasoning', id: 'rs_1', summary: [] },
    { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'orders.get', arguments: '{"id":"A-1"}' },
    { type: 'mcp_call', id: 'mcp_1', name: 'search', arguments: '{"q":"x"}', output: 'two hits', error: null },
    { type: 'file_search_call', id: 'fs_1', queries: ['refund'], results: [{ file_id: 'f1' }, { file_id: 'f2' }] },
    { type: 'mcp_call', id: 'mcp_2', name: 'search', arguments: '{}', output: null, error: 'down' },
    {
      type: 'message',
      role: 'assistant',
      content: [
        { type: 'output_text', text: 'It is ', annotations: [] },
        { type: 'output_text', text: 'paid.', annotations: [] },
      ],
    },
  ],
  usage: { input_tokens: 4, output_tokens: 6, total_tokens: 10 },
};

export const OPENAI_RESPONSES_STREAM = streamOf(
  { type: 'response.created', response: { id: 'resp_1', model: 'm-1' } },
  {
    type: 'response.output_item.done',
    item: { type: 'function_call', call_id: 'call_1', name: 'orders.get', arguments: '{"id":"A-1"}' },
  },
  { type: 'response.output_text.delta', delta: 'It is ' },
  { type: 'response.output_text.delta', delta: 'paid.' },
  { type: 'response.completed', response: { id: 'resp_1', usage: { total_tokens: 10 } } },
);

export const ANTHROPIC_MESSAGES = {
  id: 'msg_1',
  type: 'message',
  model: 'm-2',
  content: [
    { type: 'text', text: 'Looking. ' },
    { type: 'server_tool_use', id: 'st_1', name: 'web_search', input: { query: 'x' } },
    { type: 'web_search_tool_result', tool_use_id: 'st_1', content: [{ type: 'web_search_result', url: 'u' }] },
    { type: 'server_tool_use', id: 'st_2', name: 'web_search', input: { query: 'y' } },
    {
      type: 'web_search_tool_result',
      tool_use_id: 'st_2',
      content: { type: 'web_search_tool_result_error', error_code: 'max_uses_exceeded' },
    },
    { type: 'mcp_tool_use', id: 'mt_1', name: 'echo', server_name: 's', input: {} },
    { type: 'mcp_tool_result', tool_use_id: 'mt_1', is_error: true, content: [{ type: 'text', text: 'no' }] },
    { type: 'tool_use', id: 'tu_1', name: 'orders.get', input: { id: 'A-1' } },
    { type: 'text', text: 'Done.' },
  ],
  usage: { input_tokens: 4, output_tokens: 6 },
};

export const ANTHROPIC_STREAM = streamOf(
  { type: 'message_start', message: { id: 'msg_1', model: 'm-2', usage: { input_tokens: 9, output_tokens: 1 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'ping' },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Look' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'ing.' } },
  { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 'tu_1', name: 'get', input: {} } },
  { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '' } },
  { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"id": "A' } },
  { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '-1"}' } },
  { type: 'content_block_start', index: 2, content_block: { type: 'tool_use', id: 'tu_2', name: 'now', input: {} } },
  { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '' } },
  { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 20 } },
  { type: 'message_delta', delta: {}, usage: { output_tokens: 25 } },
  { type: 'message_stop' },
);

const MESSAGES = [
  { type: 'human', content: 'Where is A-1?' },
  {
    type: 'ai',
    content: '',
    tool_calls: [
      { id: 't1', name: 'orders.get', args: { id: 'A-1' } },
      { id: 't2', name: 'mail.find', args: {} },
    ],
    usage_metadata: { input_tokens: 10, output_tokens: 2, total_tokens: 12 },
  },
  { type: 'tool', tool_call_id: 't1', status: 'success', content: 'delivered' },
  { type: 'tool', tool_call_id: 't2', status: 'error', content: 'timeout' },
  { type: 'ai', content: '', tool_calls: [], usage_metadata: { input_tokens: 20, output_tokens: 1, total_tokens: 21 } },
  {
    type: 'ai',
    content: 'It was delivered.',
    tool_calls: [],
    response_metadata: { model_name: 'm-3' },
    usage_metadata: { input_tokens: 30, output_tokens: 3, total_tokens: 33 },
  },
];

export const LANGGRAPH = { messages: MESSAGES };

export const LANGGRAPH_STREAM = {
  frames: [
    { event: 'metadata', data: { run_id: 'r1' }, at_ms: 0 },
    { event: 'updates', data: { agent: { messages: MESSAGES.slice(1, 2) } }, at_ms: 1 },
    { event: 'updates', data: { tools: { messages: MESSAGES.slice(2, 4) } }, at_ms: 2 },
    { event: 'updates', data: { agent: { messages: MESSAGES.slice(4) } }, at_ms: 3 },
    { event: 'end', data: 'null', at_ms: 4 },
  ],
};

export const A2A = {
  jsonrpc: '2.0',
  id: 1,
  result: {
    task: {
      id: 'task-1',
      contextId: 'ctx-1',
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ artifactId: 'a', parts: [{ text: 'one' }, { data: { n: 1 } }, { text: 'two' }] }],
    },
  },
};

export const A2A_FAILED = {
  jsonrpc: '2.0',
  id: 1,
  result: { task: { id: 'task-1', contextId: 'ctx-1', status: { state: 'TASK_STATE_FAILED' } } },
};

export const A2A_OLD = {
  jsonrpc: '2.0',
  id: 1,
  result: {
    kind: 'task',
    id: 'task-1',
    contextId: 'ctx-1',
    status: { state: 'completed' },
    artifacts: [{ artifactId: 'a', parts: [{ kind: 'text', text: 'one' }] }],
  },
};

const a2aFrame = (result: object): object => ({ jsonrpc: '2.0', id: 1, result });

export const A2A_STREAM = streamOf(
  a2aFrame({ task: { id: 'task-1', contextId: 'ctx-1', status: { state: 'TASK_STATE_SUBMITTED' } } }),
  a2aFrame({ statusUpdate: { taskId: 'task-1', status: { state: 'TASK_STATE_WORKING' } } }),
  a2aFrame({ artifactUpdate: { artifact: { artifactId: 'a', parts: [{ text: 'It is ' }] } } }),
  a2aFrame({ artifactUpdate: { artifact: { artifactId: 'a', parts: [{ text: 'paid.' }] }, append: true } }),
  a2aFrame({ statusUpdate: { taskId: 'task-1', status: { state: 'TASK_STATE_COMPLETED' } } }),
);

export const AG_UI = streamOf(
  { type: 'RUN_STARTED', threadId: 'th-1', runId: 'r-1' },
  { type: 'TEXT_MESSAGE_START', messageId: 'm1', role: 'assistant' },
  { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm1', delta: 'Looking.' },
  { type: 'TOOL_CALL_START', toolCallId: 'tc-1', toolCallName: 'orders.get' },
  { type: 'TOOL_CALL_START', toolCallId: 'tc-2', toolCallName: 'mail.find' },
  { type: 'TOOL_CALL_ARGS', toolCallId: 'tc-1', delta: '{"id":' },
  { type: 'TOOL_CALL_ARGS', toolCallId: 'tc-2', delta: '{}' },
  { type: 'TOOL_CALL_ARGS', toolCallId: 'tc-1', delta: '"A-1"}' },
  { type: 'TOOL_CALL_RESULT', messageId: 'm2', toolCallId: 'tc-1', content: 'paid' },
  { type: 'TEXT_MESSAGE_START', messageId: 'm3', role: 'assistant' },
  { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm3', delta: 'It is ' },
  { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm3', delta: 'paid.' },
  { type: 'RUN_FINISHED', threadId: 'th-1', runId: 'r-1' },
);

export const MCP_TOOL = {
  jsonrpc: '2.0',
  id: 1,
  result: { content: [{ type: 'text', text: '{"n":2}' }], structuredContent: { n: 2 }, isError: false },
};

export const MCP_TOOL_FAILED = {
  jsonrpc: '2.0',
  id: 1,
  result: { content: [{ type: 'text', text: 'no such order' }], isError: true },
};
