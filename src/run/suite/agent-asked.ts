import type { SuiteTarget } from '../../contracts/suite/index.ts';
import type { AgentOrder } from '../agent/order.ts';

/** What may be asked of an agent's program in every attempt, beside its policy and its folder. */
export interface AgentAsked
  extends Pick<AgentOrder, 'model' | 'maxTurns' | 'maxCostUsd' | 'modelMode' | 'allowUntestedVersion'> {
  /** The folder of the recordings, one for each attempt, with `modelMode` record or replay. */
  readonly recordings?: string;
}

/** All of them, in the words that people are told. */
export const AGENT_ASKED: Readonly<Record<keyof AgentAsked, string>> = {
  model: '--model',
  maxTurns: '--max-turns',
  maxCostUsd: '--max-cost',
  modelMode: '--model-mode',
  recordings: '--recordings',
  allowUntestedVersion: '--allow-untested-version',
};

/** What of it stands among other options. */
export function askedIn(options: AgentAsked): AgentAsked {
  const keys = Object.keys(AGENT_ASKED) as (keyof AgentAsked)[];
  return Object.fromEntries(keys.flatMap(key => (options[key] === undefined ? [] : [[key, options[key]]])));
}

/** The same as the request states it, so that a run of another model, or under other limits, is one of another target. */
export function askedNote(asked: AgentAsked): Partial<SuiteTarget & { kind: 'agent' }> {
  const { model, maxTurns, maxCostUsd, modelMode = 'live', allowUntestedVersion } = asked;
  return {
    ...(model !== undefined && { model }),
    ...(maxTurns !== undefined && { max_turns: maxTurns }),
    ...(maxCostUsd !== undefined && { max_cost_usd: maxCostUsd }),
    ...(modelMode !== 'live' && { model_mode: modelMode }),
    ...(allowUntestedVersion === true && { allow_untested_version: true as const }),
  };
}
