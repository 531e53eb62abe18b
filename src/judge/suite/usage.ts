import type { CaseArtifact } from '../../contracts/artifacts/index.ts';
import { own } from './provenance.ts';

/** The cost of an answer; null for values that the agent did not report. */
export interface Usage {
  readonly costUsd: number | null;
  readonly tokens: number | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
}

/** What an agent reports about its cost beyond the contract: in `token_usage`, in `usage`, or at the top level. */
export function reportedUsage({ agent_fields }: Pick<CaseArtifact, 'agent_fields'>): Usage {
  const usage = [own(agent_fields, 'token_usage'), own(agent_fields, 'usage')];
  const said = (key: string): number | null => firstAmount(usage.map(one => own(one, key)));
  const [input, output] = [said('input_tokens'), said('output_tokens')];
  const sum = input === null && output === null ? null : (input ?? 0) + (output ?? 0);
  return {
    costUsd: said('cost_usd') ?? firstAmount([own(agent_fields, 'cost_usd')]),
    tokens: said('total_tokens') ?? (Number.isFinite(sum) ? sum : null),
    inputTokens: input,
    outputTokens: output,
  };
}

function firstAmount(values: readonly unknown[]): number | null {
  const amount = values.find(value => typeof value === 'number' && value >= 0 && value <= AMOUNT_MAX);
  return typeof amount === 'number' ? amount : null;
}

/** Larger values are ignored, so sums of the rest stay finite. */
const AMOUNT_MAX = 1e12;
