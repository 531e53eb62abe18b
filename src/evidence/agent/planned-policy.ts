import * as z from 'zod/mini';
import { Fault } from '../../base/fault.ts';
import type { AgentOutcome, PolicySummary } from '../../contracts/agent-step/index.ts';
import { policySummary } from '../../contracts/agent-step/index.ts';
import { clocksShape, turnLimitShape } from '../../contracts/agent-step/outcome.ts';
import { enforcementShape } from '../../contracts/script-outcome/shape.ts';
import { anyObject, record } from '../../contracts/shape.ts';
import { hasShape, keepsContract } from '../document.ts';
import { openRun } from '../recovery/recover.ts';
import type { AgentPlan } from './agent-run.ts';

/** What an agent may do and use, as Proctor decided before it started. */
export interface PlannedPolicy extends Pick<AgentOutcome, 'enforcement' | 'clocks' | 'turn_limit'> {
  readonly agent: Pick<AgentOutcome['agent'], 'family'>;
  readonly policy: PolicySummary;
}

/** The policy of an unfinished run. Only a journal from this user and machine is trusted. */
export function plannedPolicyIn(folder: string): PlannedPolicy | undefined {
  try {
    const { plan, isOurs } = openRun(folder);
    if (!isOurs || !hasShape(plan, planShape)) return undefined;
    const { policy, enforcement, clocks, turnLimit, agent } = plan as unknown as AgentPlan;
    if (!keepsContract(policy, policySummary)) return undefined;
    return { policy: policy as PolicySummary, enforcement, clocks, agent, ...(turnLimit && { turn_limit: turnLimit }) };
  } catch (error) {
    // The run may have ended meanwhile.
    if (!(error instanceof Fault)) throw error;
    return undefined;
  }
}

const planShape = record({
  policy: anyObject(),
  enforcement: enforcementShape,
  clocks: clocksShape,
  turnLimit: z.optional(turnLimitShape),
  agent: record({ family: z.string() }),
});
