import type { AgentOutcome } from '../contracts/agent-step/outcome.ts';
import type { EffectivePolicy } from '../contracts/agent-step/policy.ts';
import type { Violation } from '../contracts/agent-step/policy-summary.ts';

/**
 * Requests through the door that reached for the network, where it is denied. The door refused them, so nothing happened.
 * They are hard where the first denial ends a run.
 */
export function doorViolations(
  refused: AgentOutcome['model_access']['refused'],
  { network_posture, approval_posture }: Pick<EffectivePolicy, 'network_posture' | 'approval_posture'>,
): Violation[] {
  if (network_posture !== 'deny') return [];
  const hard = approval_posture === 'fail_on_prompt';
  return (refused?.listed ?? []).flatMap(({ what, where, count }) => {
    const did = REACHES[what];
    if (did === undefined) return [];
    const times = count === 1 ? '' : `, ${count} times`;
    const message = `${did}, which the door refused: ${where}${times}.`;
    return [{ class: 'network_violation', message, hard, source: 'door' }];
  });
}

/** By the word of the door. Other refusals, such as a body that is no JSON, reach for nothing. */
const REACHES: Readonly<Record<string, string>> = {
  endpoint: 'A request asked for an endpoint of the model API that no agent needs',
  reach: 'A request would have reached beyond the model',
  reference: 'A request referred to something that the provider would have fetched',
  tool: 'A request would have made the provider run a tool',
  model: 'A request asked for a model that searches the network',
};
