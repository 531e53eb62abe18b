import type { AgentAdapter } from '../../adapters/agent.ts';
import type { AgentOutcome } from '../../contracts/agent-step/index.ts';
import type { EffectivePolicy, RequestedPolicy } from '../../contracts/agent-step/policy.ts';
import type { ModelPrices } from '../../contracts/model-prices/index.ts';
import { priceOf } from '../../contracts/model-prices/price.ts';
import type { AgentPlan } from '../../evidence/agent/agent-run.ts';
import type { BudgetLimits } from '../../execute/gateway/budget.ts';
import { type AgentLimits, agentLimits } from '../../policy/agent-limits.ts';
import { type AppliedOverride, effectivePolicy, requestedFrom, SYSTEM_SETTINGS } from '../../policy/agent-policy.ts';
import { type Effective, effectiveLimits, type Offer } from '../../policy/effective-limits.ts';
import { enforcedBy, type Enforcers } from '../../policy/capabilities.ts';
import type { AgentOrder } from './order.ts';
import { type TriedProgram, versionWarnings } from './program.ts';
import { readAgentPolicy } from './read-policy.ts';
import { readPrices } from './read-prices.ts';

/** Everything that limits an agent. */
export interface Bound {
  readonly requested: RequestedPolicy;
  readonly effective: EffectivePolicy;
  readonly limits: AgentLimits;
  /** What the model proxy enforces. */
  readonly budget: BudgetLimits;
  /** What the sandbox enforces. */
  readonly bounds: Effective;
  /** The policy summary before the run. */
  readonly summary: {
    readonly requested: RequestedPolicy;
    readonly effective: EffectivePolicy;
    readonly capabilityNotes: readonly string[];
    readonly appliedOverrides: readonly AppliedOverride[];
  };
  /** Notes on applied defaults, and on requests that another setting tightened. */
  readonly decisions: readonly string[];
  /** What can enforce each request, as far as Proctor knows before it finds the program. */
  readonly enforcers: Enforcers;
}

/** Turns the requested policy into what this machine enforces. Refuses what it cannot enforce. */
export function boundFor(order: AgentOrder, adapter: AgentAdapter, offers: readonly Offer[]): Bound {
  const { policy } = readAgentPolicy(order.policy, order.cwd);
  const requested = requestedFrom(SYSTEM_SETTINGS, policy);
  const { effective, appliedOverrides, notes } = effectivePolicy(requested, order.overrides);
  const { timeoutMs, idleMs, maxTurns, maxRequests, maxTokens, maxCostUsd } = order;
  const asked = Object.fromEntries(
    Object.entries({ timeoutMs, idleMs, maxTurns, maxRequests, maxTokens, maxCostUsd }).filter(
      ([, value]) => value !== undefined,
    ),
  );
  const { limits, warnings } = agentLimits(asked, policy, 'process');
  const prices = order.prices === undefined ? undefined : readPrices(order.prices, order.cwd);
  const isLacking = prices && order.model !== undefined && !priceOf(prices, order.model);
  const enforcers: Enforcers = {
    agent: adapter.agent,
    capabilities: adapter.capabilities,
    sandbox: 'process',
    ...(prices && { prices: isLacking ? 'lacking' : 'given' }),
  };
  const enforced = enforcedBy(effective, limits, enforcers);
  const { memoryBytes, pids, cpuSeconds } = limits;
  const bounds = effectiveLimits(
    {
      sandbox: 'process',
      timeoutMs: Math.min(limits.timeoutMs, RECORD_MS_MAX),
      outputFilesMax: CHANGES_MAX,
      outputBytesMax: CHANGED_BYTES_MAX,
      ...(memoryBytes !== undefined && { memoryBytes }),
      ...(pids !== undefined && { pids }),
      ...(cpuSeconds !== undefined && { cpuSeconds }),
      ...(order.cpus !== undefined && { cpus: order.cpus }),
    },
    offers,
  );
  return {
    requested,
    effective,
    limits,
    budget: budgetOf(limits, prices),
    bounds: {
      ...bounds,
      network: effective.network_posture === 'allow' ? 'open' : 'blocked',
      warnings: [...bounds.warnings, ...warnings].sort(),
    },
    summary: { requested, effective, capabilityNotes: [...enforced.notes, ...notes], appliedOverrides },
    decisions: notes,
    enforcers,
  };
}

/**
 * Updates warnings and notes once the program is known: its version may be untested, or its sandbox may not work in
 * ours.
 */
export function boundWith(bound: Bound, adapter: AgentAdapter, program: TriedProgram): Bound {
  const { effective, limits, bounds, summary, decisions, enforcers } = bound;
  const isUnconfined = adapter.sandboxProbe !== undefined && !program.nestedSandbox;
  const { notes } = enforcedBy(effective, limits, { ...enforcers, isUnconfined });
  return {
    ...bound,
    bounds: { ...bounds, warnings: [...bounds.warnings, ...versionWarnings(program)].sort() },
    summary: { ...summary, capabilityNotes: [...notes, ...decisions] },
  };
}

function budgetOf({ maxRequests, maxTokens, maxCostUsd }: AgentLimits, prices: ModelPrices | undefined): BudgetLimits {
  return {
    ...(maxRequests !== undefined && { maxRequests }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(maxCostUsd !== undefined && { maxCostUsd }),
    ...(prices && { prices }),
  };
}

/** The longest timeout that a runner record can state. */
const RECORD_MS_MAX = 600_000;

/** How many files an agent may change, and their total size. */
export const CHANGES_MAX = 10_000;
export const CHANGED_BYTES_MAX = 1024 ** 3;

/** The agent's time limits, as its outcome records them. */
export function clocksOf({ limits }: Bound): AgentOutcome['clocks'] {
  return {
    timeout_ms: limits.timeoutMs,
    idle_timeout_ms: limits.idleMs,
    tool_idle_timeout_ms: limits.toolIdleMs,
    grace_ms: Math.min(GRACE_MS, limits.timeoutMs),
  };
}

/** The turn limit and what enforces it; empty if none was requested. */
export function turnLimitOf(
  { limits: { maxTurns: max } }: Bound,
  { capabilities: { turn_limit: enforced_by } }: AgentAdapter,
): Pick<AgentPlan, 'turnLimit'> {
  return max === undefined || enforced_by === false ? {} : { turnLimit: { max, enforced_by } };
}

/** The time limit between the agent's last line and its exit. */
const GRACE_MS = 10_000;
