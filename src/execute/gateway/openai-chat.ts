import { isObject } from '../../contracts/kind.ts';
import type { Gateway, AnswerPart, Members } from './gateway.ts';
import { tokenCount, restOf, shortTextIn, wordsIn } from './values.ts';

/** OpenAI's Chat Completions API, which many providers implement. */
export const openaiChat: Gateway = {
  name: 'openai-chat',
  endpoints: [
    { method: 'POST', path: /^(?:\/v1)?\/chat\/completions$/, use: 'ask' },
    { method: 'GET', path: /^(?:\/v1)?\/models(?:\/[\w.:@-]{1,200})?$/, use: 'list' },
  ],
  body: {
    keys: wordsIn(`
      model messages tools tool_choice parallel_tool_calls functions function_call stream stream_options store
      max_tokens max_completion_tokens n stop seed temperature top_p top_k min_p frequency_penalty
      presence_penalty repetition_penalty logit_bias logprobs top_logprobs response_format prediction reasoning
      reasoning_effort thinking enable_thinking verbosity prompt_cache_key prompt_cache_retention metadata
      safety_identifier user
    `),
    reach: new Set(['web_search_options', 'audio', 'modalities', 'service_tier']),
    tool: tool => (tool['type'] === 'function' || tool['type'] === 'custom' ? tool : undefined),
    refusedTypes: /^(?:web_search(?:_preview)?|file_search|code_interpreter|mcp)$/,
    data: new Set(['parameters', 'schema', 'metadata', 'logit_bias', 'annotations']),
    choice: { key: 'tool_choice', types: new Set(['function', 'custom', 'allowed_tools']) },
    force: forcePlain,
    refusedModels: /-search(?:-|$)/i,
  },
  hear({ object, model, usage, error }) {
    if (error !== undefined && error !== null) return { isError: true };
    return { model: shortTextIn(model), ...usageIn(usage), ...(object === 'chat.completion' && { isDone: true }) };
  },
};

/** Disables storage and enables usage reports in streams. */
function forcePlain(body: Members): readonly string[] {
  const { store, stream, stream_options: options } = body;
  const forced: string[] = [];
  if (store !== undefined && store !== null && store !== false) {
    body['store'] = false;
    forced.push('store');
  }
  if (stream === true && !(isObject(options) && options['include_usage'] === true)) {
    body['stream_options'] = { ...(isObject(options) && options), include_usage: true };
    forced.push('stream_options.include_usage');
  }
  return forced;
}

function usageIn(usage: unknown): AnswerPart {
  if (!isObject(usage)) return {};
  const details = isObject(usage['prompt_tokens_details']) ? usage['prompt_tokens_details'] : {};
  const cached = tokenCount(details['cached_tokens']);
  return {
    input: restOf(tokenCount(usage['prompt_tokens']), cached),
    cached,
    output: tokenCount(usage['completion_tokens']),
  };
}
