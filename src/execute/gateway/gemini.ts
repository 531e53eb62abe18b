import { isObject } from '../../contracts/kind.ts';
import type { Gateway, AnswerPart, Members } from './gateway.ts';
import { tokenCount, restOf, shortTextIn, wordsIn } from './values.ts';

const MODEL = String.raw`^/v1(?:beta)?/models/[\w.@-]{1,200}`;

/** Google's Gemini API. It accepts every key in camel case and in snake case. */
export const gemini: Gateway = {
  name: 'gemini',
  endpoints: [
    { method: 'POST', path: new RegExp(`${MODEL}:generateContent$`), use: 'ask' },
    { method: 'POST', path: new RegExp(`${MODEL}:streamGenerateContent$`), query: /^alt=sse$/, use: 'ask' },
    { method: 'POST', path: new RegExp(`${MODEL}:countTokens$`), use: 'count' },
    { method: 'GET', path: /^\/v1(?:beta)?\/models(?:\/[\w.@-]{1,200})?$/, use: 'list' },
  ],
  body: {
    keys: inBothCases('contents system_instruction tools tool_config generation_config safety_settings labels'),
    reach: inBothCases('cached_content service_tier store'),
    tool: functionsOf,
    refusedTypes: /^(?!)/,
    data: inBothCases('parameters parameters_json_schema response_schema response_json_schema args response labels'),
  },
  modelInPath: /\/models\/([\w.@-]{1,200}):/,
  hear({ modelVersion, usageMetadata, error }) {
    if (error !== undefined && error !== null) return { isError: true };
    return { model: shortTextIn(modelVersion), ...usageIn(usageMetadata) };
  },
};

function inBothCases(keys: string): ReadonlySet<string> {
  const inCamelCase = keys.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return wordsIn(`${keys} ${inCamelCase}`);
}

/** In this API, a tool is an object with one key per capability. Only functions run in the agent. */
function functionsOf(tool: Members): Members | undefined {
  const kept = Object.fromEntries(Object.entries(tool).filter(([key]) => FUNCTIONS.has(key)));
  const length = Object.keys(kept).length;
  if (length === 0) return undefined;
  return length === Object.keys(tool).length ? tool : kept;
}

const FUNCTIONS: ReadonlySet<string> = inBothCases('function_declarations');

/** Each event repeats the counts so far, so the last one is complete. */
function usageIn(usage: unknown): AnswerPart {
  if (!isObject(usage)) return {};
  const cached = tokenCount(usage['cachedContentTokenCount']);
  const said = tokenCount(usage['candidatesTokenCount']);
  const thought = tokenCount(usage['thoughtsTokenCount']);
  const asked = tokenCount(usage['promptTokenCount']);
  const used = tokenCount(usage['toolUsePromptTokenCount']) ?? 0;
  return {
    input: restOf(asked === undefined ? undefined : asked + used, cached),
    cached,
    output: said === undefined && thought === undefined ? undefined : (said ?? 0) + (thought ?? 0),
  };
}
