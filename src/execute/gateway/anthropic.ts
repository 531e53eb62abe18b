import { isObject } from '../../contracts/kind.ts';
import type { Gateway, AnswerPart, Members } from './gateway.ts';
import { tokenCount, shortTextIn, wordsIn } from './values.ts';

/** Anthropic's Messages API. */
export const anthropic: Gateway = {
  name: 'anthropic',
  endpoints: [
    { method: 'POST', path: /^\/v1\/messages$/, query: /^beta=true$/, use: 'ask' },
    { method: 'POST', path: /^\/v1\/messages\/count_tokens$/, query: /^beta=true$/, use: 'count' },
    {
      method: 'GET',
      path: /^\/v1\/models(?:\/[\w.:@-]{1,200})?$/,
      query: /^(?:beta=true|limit=\d{1,4})$/,
      use: 'list',
    },
  ],
  body: {
    keys: wordsIn(`
      model messages system max_tokens stream tools tool_choice thinking output_config output_format
      context_management cache_control metadata stop_sequences temperature top_k top_p
    `),
    reach: wordsIn(`
      mcp_servers container thread fallbacks fallback_credit_token workspace_id user_profile_id service_tier speed
      inference_geo
    `),
    tool: tool => (isClientTool(tool.type) ? tool : undefined),
    refusedTypes:
      /^(?:url|file|container_upload|mcp_toolset|(?:web_search|web_fetch|code_execution|browser_toolset|advisor)_\d{8})$/,
    data: new Set(['input_schema', 'schema', 'metadata', 'citations']),
    // The arguments of a tool call are the agent's data, whatever their keys.
    isData: (key, { type }) => key === 'input' && typeof type === 'string' && type.endsWith('tool_use'),
    choice: { key: 'tool_choice', types: new Set(['auto', 'any', 'tool', 'none']) },
  },
  features: { header: 'anthropic-beta', dropped: /^(?:mcp-client|files-api|code-execution|skills)-/ },
  hear({ type, message, usage, ...rest }) {
    // The first event is sent before the length of the answer is known.
    if (type === 'message_start' && isObject(message)) return { ...messageIn(message), output: undefined };
    if (type === 'message_delta' && isObject(usage)) return usageIn(usage);
    if (type === 'message_stop') return { isDone: true };
    if (type === 'error') return { isError: true };
    return type === 'message' ? { ...messageIn({ ...rest, usage }), isDone: true } : {};
  },
};

/** Tools that the agent runs itself. A tool without a type is one of them. */
function isClientTool(type: unknown): boolean {
  if (type === undefined || type === null) return true;
  return (
    typeof type === 'string' && /^(?:custom|(?:bash|text_editor|memory|computer|tool_search_tool)_\w{1,60})$/.test(type)
  );
}

function messageIn({ model, usage }: Members): AnswerPart {
  return { model: shortTextIn(model), ...(isObject(usage) && usageIn(usage)) };
}

function usageIn(usage: Members): AnswerPart {
  return {
    input: tokenCount(usage['input_tokens']),
    cached: tokenCount(usage['cache_read_input_tokens']),
    cacheWrite: tokenCount(usage['cache_creation_input_tokens']),
    output: tokenCount(usage['output_tokens']),
  };
}
