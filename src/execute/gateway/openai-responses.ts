import { isObject } from '../../contracts/kind.ts';
import type { Endpoint, Gateway, AnswerPart, Members, ToolKeeper } from './gateway.ts';
import { tokenCount, restOf, shortTextIn, wordsIn } from './values.ts';

/** OpenAI's Responses API. For some clients the base URL ends with `/v1`, so their paths start after it. */
export const openaiResponses: Gateway = {
  name: 'openai-responses',
  endpoints: [
    { method: 'POST', path: /^(?:\/v1)?\/responses$/, use: 'ask', stores: true },
    { method: 'POST', path: /^(?:\/v1)?\/responses\/compact$/, use: 'ask' },
    { method: 'POST', path: /^(?:\/v1)?\/responses\/input_tokens$/, use: 'count' },
    {
      method: 'GET',
      path: /^(?:\/v1)?\/models(?:\/[\w.:@-]{1,200})?$/,
      query: /^client_version=[\w.+-]{1,60}$/,
      use: 'list',
    },
  ],
  body: {
    keys: wordsIn(`
      model input instructions tools tool_choice parallel_tool_calls max_tool_calls max_output_tokens reasoning
      text include store stream stream_options prompt_cache_key prompt_cache_retention context_management
      truncation temperature top_p top_logprobs metadata client_metadata safety_identifier user
    `),
    reach: new Set(['previous_response_id', 'conversation', 'background', 'prompt', 'service_tier']),
    tool: clientTool,
    refusedTypes:
      /^(?:item_reference|web_search(?:_preview)?(?:_\d{4}_\d\d_\d\d)?|file_search|code_interpreter|image_generation|mcp|programmatic_tool_calling|container_(?:auto|reference))$/,
    data: wordsIn(`parameters schema metadata client_metadata action operation annotations logprobs`),
    choice: {
      key: 'tool_choice',
      types: wordsIn(`function custom local_shell apply_patch shell allowed_tools`),
    },
    force: forceNoStore,
  },
  hear({ type, response, ...whole }) {
    if (type === 'error' || type === 'response.failed') return { ...responseIn(response), isError: true };
    if (type === 'response.completed' || type === 'response.incomplete')
      return { ...responseIn(response), isDone: true };
    return whole['object'] === 'response' || whole['object'] === 'response.compaction'
      ? { ...responseIn(whole), isDone: true }
      : {};
  },
};

/** The provider stores answers unless the request opts out. */
function forceNoStore(body: Members, { stores }: Endpoint): readonly string[] {
  if (!stores || body['store'] === false) return [];
  body['store'] = false;
  return ['store'];
}

/** Tools that the agent runs itself, alone or in a namespace. */
function clientTool(tool: Members, keep: ToolKeeper): Members | undefined {
  const { type, tools, environment, execution } = tool;
  if (type === 'namespace' && Array.isArray(tools)) {
    const kept = keep(tools);
    return kept.length > 0 || tools.length === 0 ? { ...tool, tools: kept } : undefined;
  }
  if (type === 'shell') return isObject(environment) && environment['type'] === 'local' ? tool : undefined;
  if (type === 'tool_search') return execution === 'client' ? tool : undefined;
  return typeof type === 'string' && CLIENT_TOOLS.has(type) ? tool : undefined;
}

const CLIENT_TOOLS: ReadonlySet<string> = new Set(['function', 'custom', 'local_shell', 'apply_patch']);

function responseIn(response: unknown): AnswerPart {
  if (!isObject(response)) return {};
  const { model, usage } = response;
  if (!isObject(usage)) return { model: shortTextIn(model) };
  const details = isObject(usage['input_tokens_details']) ? usage['input_tokens_details'] : {};
  const cached = tokenCount(details['cached_tokens']);
  const cacheWrite = tokenCount(details['cache_write_tokens']);
  return {
    model: shortTextIn(model),
    input: restOf(tokenCount(usage['input_tokens']), cached, cacheWrite),
    cached,
    cacheWrite,
    output: tokenCount(usage['output_tokens']),
  };
}
