import type { AgentReading, AgentUsage, Reason } from '../contracts/agent-step/reading.ts';
import { amountIn, brief, countIn, listIn, objectIn, type StreamObject, statusIn, textIn } from './json-values.ts';

export interface ClaudeEnding extends Pick<AgentReading, 'finalText' | 'failure' | 'usage'> {
  readonly terminal: NonNullable<AgentReading['terminal']>;
}

/** State from the lines before the last one. */
export interface ClaudeBefore {
  readonly isUnauthenticated: boolean;
  /** The caller requested structured output. */
  readonly isStructured: boolean;
}

/**
 * Reads Claude's last line. Neither `subtype` nor the exit code is reliable alone: an API error has the subtype
 * `success`, and an interrupt exits with 0. So the ending is a success only if all fields agree.
 */
export function endingOf(said: StreamObject, { isUnauthenticated, isStructured }: ClaudeBefore): ClaudeEnding {
  const subtype = textIn(said.subtype) ?? '';
  const why = textIn(said.terminal_reason) ?? 'completed';
  const finalText = textIn(said.result)?.toWellFormed() ?? null;
  const isFine = said.is_error === false && subtype === 'success' && why === 'completed';
  // Claude retries once to produce structured output, then gives up and still reports success.
  const isUnformed = isFine && isStructured && said.structured_output === undefined;
  const ok = isFine && !isUnformed;
  const word = brief(isUnformed ? 'no_structured_output' : why === 'completed' ? subtype : why, 128);
  return {
    terminal: { ok, word: ok ? 'completed' : word },
    finalText,
    failure: ok ? null : isUnformed ? UNFORMED : failureOf(said, subtype, why, isUnauthenticated),
    usage: usageOf(said),
  };
}

const UNFORMED: NonNullable<AgentReading['failure']> = {
  reason: 'schema_missing',
  status: null,
  detail: 'The answer does not match the requested schema.',
};

function failureOf(
  said: StreamObject,
  subtype: string,
  why: string,
  isUnauthenticated: boolean,
): AgentReading['failure'] {
  const status = statusIn(said.api_error_status);
  const detail = brief(textIn(said.result) ?? textIn(listIn(said.errors)[0]) ?? (why === 'completed' ? subtype : why));
  const reason = REASON_OF.get(why) ?? REASON_OF.get(subtype) ?? 'protocol_error';
  if (reason === 'api_error' && (isUnauthenticated || isAuthFailure(status, detail))) {
    return { reason: 'auth_missing', status, detail };
  }
  return { reason, status, detail };
}

/** By `terminal_reason`, then by `subtype`. In a failed run, the subtype `success` means an API error. */
const REASON_OF: ReadonlyMap<string, Reason> = new Map([
  ['api_error', 'api_error'],
  ['model_error', 'api_error'],
  ['prompt_too_long', 'api_error'],
  ['max_turns', 'limit_turns'],
  ['budget_exhausted', 'limit_budget'],
  ['structured_output_retry_exhausted', 'schema_missing'],
  ['aborted_streaming', 'cancelled'],
  ['aborted_tools', 'cancelled'],
  ['error_max_turns', 'limit_turns'],
  ['error_max_budget_usd', 'limit_budget'],
  ['error_max_structured_output_retries', 'schema_missing'],
  ['success', 'api_error'],
]);

export function isAuthFailure(status: number | null, message: string): boolean {
  return status === 401 || message === 'authentication_failed' || message.startsWith('Not logged in');
}

export const NO_USAGE: AgentUsage = {
  turns: null,
  input_tokens: null,
  cached_input_tokens: null,
  output_tokens: null,
  cost_usd: null,
};

/**
 * Prefers `modelUsage`, which includes subagents, to `usage`, which covers only the main loop. Proctor counts cached input
 * as input; Claude counts it separately.
 */
function usageOf(said: StreamObject): AgentUsage {
  const models = Object.values(objectIn(said.modelUsage) ?? {}).map(objectIn);
  const turns = countIn(said.num_turns);
  const cost_usd = amountIn(said.total_cost_usd);
  if (models.length > 0) {
    const sumOf = (...keys: string[]): number | null => sum(models.flatMap(model => keys.map(key => model?.[key])));
    return {
      turns,
      input_tokens: sumOf('inputTokens', 'cacheReadInputTokens', 'cacheCreationInputTokens'),
      cached_input_tokens: sumOf('cacheReadInputTokens'),
      output_tokens: sumOf('outputTokens'),
      cost_usd,
    };
  }
  const usage = objectIn(said.usage);
  if (!usage) return { ...NO_USAGE, turns, cost_usd };
  return {
    turns,
    input_tokens: sum([usage.input_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens]),
    cached_input_tokens: countIn(usage.cache_read_input_tokens),
    output_tokens: countIn(usage.output_tokens),
    cost_usd,
  };
}

/** Ignores missing numbers. Null if all are missing. */
function sum(values: readonly unknown[]): number | null {
  const counts = values.map(countIn).filter(value => value !== null);
  return counts.length === 0 ? null : countIn(counts.reduce((total, value) => total + value, 0));
}
