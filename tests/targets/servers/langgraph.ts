import type { Told } from './kind.ts';
import { asDocument, MODEL, type Protocol, requires, sendJson, textAt, TOKENS } from './protocol-server.ts';

export const langgraph: Protocol = {
  name: 'langgraph',
  can: { tools: 'results', usage: true, model: true, failure: true, stream: false },
  declaration: url => ({
    kind: 'langgraph',
    url,
    assistant: 'desk',
    headers: { 'x-api-key': '${env:AGENT_TOKEN}' },
    price: { input: 0.5, output: 2 },
  }),
  framed: asDocument,
  speak: () => ({
    hear({ method, path, headers, body }) {
      requires(headers['x-api-key'], 'x-api-key');
      requires(method === 'POST' && THREAD.test(path), 'thread');
      requires(body['assistant_id'] === 'desk', 'assistant_id');
      requires(body['if_not_exists'] === 'create', 'if_not_exists');
      return textAt(body, 'input', 'messages', 0, 'content');
    },
    answer: (told, { body }, response) =>
      sendJson(response, stateOf(told, textAt(body, 'input', 'messages', 0, 'content'))),
  }),
};

/** A server refuses a thread whose id is not a UUID. */
const THREAD = /^\/threads\/[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\/runs\/wait$/;

function stateOf({ text, calls = [], failure }: Told, question: string): object {
  if (failure !== undefined) return { __error__: { error: 'RuntimeError', message: failure } };
  const ai = { type: 'ai', additional_kwargs: {}, invalid_tool_calls: [], response_metadata: { model_name: MODEL } };
  return {
    messages: [
      { type: 'human', id: 'm0', content: question, additional_kwargs: {} },
      ...calls.flatMap(({ id, name, args, result, hasFailed }) => [
        { ...ai, id: `ai-${id}`, content: '', tool_calls: [{ name, args, id, type: 'tool_call' }] },
        { type: 'tool', id: `t-${id}`, name, content: result, tool_call_id: id, ...(hasFailed && { status: 'error' }) },
      ]),
      {
        ...ai,
        id: 'last',
        content: [{ type: 'text', text }],
        tool_calls: [],
        usage_metadata: {
          input_tokens: TOKENS.input,
          output_tokens: TOKENS.output,
          total_tokens: TOKENS.input + TOKENS.output,
        },
      },
    ],
  };
}
