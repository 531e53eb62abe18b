import { contentHash } from '../../base/hash.ts';
import type { SuiteTarget } from '../../contracts/suite/index.ts';
import type { SuitePlan } from '../../evidence/suite/suite-run.ts';
import { readPrices } from '../agent/read-prices.ts';

/** The options of every agent attempt, except its policy, its folders and its CPU limit. */
export type AgentAsked = Omit<
  NonNullable<SuitePlan['agent']>,
  'dir' | 'policy' | 'cwd' | 'cpus' | 'casesDir' | 'commits'
>;

export const AGENT_ASKED: Readonly<Record<keyof AgentAsked, string>> = {
  model: '--model',
  maxTurns: '--max-turns',
  maxRequests: '--max-requests',
  maxTokens: '--max-tokens',
  maxCostUsd: '--max-cost',
  prices: '--prices',
  modelMode: '--model-mode',
  recordings: '--recordings',
  allowUntestedVersion: '--allow-untested-version',
  base: '--base',
  mounts: '--mount',
  checks: '--check',
};

export function askedIn(options: AgentAsked): AgentAsked {
  const keys = Object.keys(AGENT_ASKED) as (keyof AgentAsked)[];
  return Object.fromEntries(keys.flatMap(key => (options[key] === undefined ? [] : [[key, options[key]]])));
}

/** The same options as fields of the request. A different model or different limits make a different target. */
export function askedNote(asked: AgentAsked & { readonly cwd: string }): Partial<SuiteTarget & { kind: 'agent' }> {
  const { model, maxTurns, maxRequests, maxTokens, maxCostUsd, prices, modelMode = 'live' } = asked;
  return {
    ...(model !== undefined && { model }),
    ...(maxTurns !== undefined && { max_turns: maxTurns }),
    ...(maxRequests !== undefined && { max_requests: maxRequests }),
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
    ...(maxCostUsd !== undefined && { max_cost_usd: maxCostUsd }),
    ...(prices !== undefined && { prices_sha256: contentHash(readPrices(prices, asked.cwd)) }),
    ...(modelMode !== 'live' && { model_mode: modelMode }),
    ...(asked.allowUntestedVersion === true && { allow_untested_version: true as const }),
    ...(asked.base !== undefined && { base: asked.base }),
  };
}
