import type { AgentOutcome } from '../contracts/agent-step/outcome.ts';
import type { EffectivePolicy } from '../contracts/agent-step/policy.ts';
import type { PolicyViolation } from '../contracts/agent-step/policy-summary.ts';

/**
 * Network requests that the model proxy refused, if the policy denies the network. They had no effect. They are hard
 * violations if the first denial ends a run.
 */
export function doorViolations(
  refused: AgentOutcome['model_access']['refused'],
  { network_posture, approval_posture }: Pick<EffectivePolicy, 'network_posture' | 'approval_posture'>,
): PolicyViolation[] {
  if (network_posture !== 'deny') return [];
  const hard = approval_posture === 'fail_on_prompt';
  return (refused?.listed ?? []).flatMap(({ what, where, count }) => {
    const did = REACHES[what];
    if (did === undefined) return [];
    const times = count === 1 ? '' : `, ${count} times`;
    const message = `${did}; the model proxy refused it: ${where}${times}.`;
    return [{ class: 'network_violation', message, hard, source: 'door' }];
  });
}

/** By refusal code. Other refusals, such as a malformed body, do not concern the network. */
const REACHES: Readonly<Record<string, string>> = {
  endpoint: 'A request used an endpoint of the model API that agents do not need',
  reach: 'A request would have accessed more than the model',
  reference: 'A request contained a reference that the provider would have fetched',
  tool: 'A request would have made the provider run a tool',
  model: 'A request used a model that searches the network',
};
