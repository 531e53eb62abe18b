import type { DIMENSIONS, EffectivePolicy, RequestedPolicy } from '../../contracts/agent-step/policy.ts';
import type { PolicySummary, PolicyViolation } from '../../contracts/agent-step/policy-summary.ts';

type Dimension = (typeof DIMENSIONS)[number];

/** A check that ran inside the sandbox before the agent started. */
interface Tried {
  readonly what: 'network' | 'file_system' | 'environment' | 'privileges';
  readonly held: boolean;
  readonly note: string;
}

export interface PolicyFacts {
  readonly requested: RequestedPolicy;
  readonly effective: EffectivePolicy;
  readonly observed: readonly Tried[];
  readonly capabilityNotes: readonly string[];
  readonly appliedOverrides: readonly { readonly dimension: Dimension; readonly note: string }[];
  readonly violations: readonly PolicyViolation[];
  readonly enforcementNotes: readonly string[];
}

/** Summarises what was requested, enforced, tested and violated. */
export function policySummaryOf(facts: PolicyFacts): PolicySummary {
  const { requested, effective, observed, violations } = facts;
  return {
    schema_version: 'policy-summary.v1',
    requested,
    effective,
    observed: observed.flatMap(({ what, held, note }) => {
      const dimension = DIMENSION_OF[what];
      return dimension === undefined ? [] : [{ dimension, held, note }];
    }),
    capability_notes: [...facts.capabilityNotes],
    applied_overrides: [...facts.appliedOverrides],
    ...against(violations, facts.enforcementNotes),
  };
}

export function against(
  violations: readonly PolicyViolation[],
  notes: readonly string[],
): Pick<PolicySummary, 'violations' | 'enforcement_notes'> {
  const rest = violations.length - VIOLATIONS_MAX;
  return {
    violations: violations.slice(0, VIOLATIONS_MAX),
    enforcement_notes: [...notes, ...(rest > 0 ? [`${rest} more violations are not listed.`] : [])],
  };
}

/** An agent may be denied something on every turn, and the summary must stay readable. */
const VIOLATIONS_MAX = 1_000;

/**
 * The policy dimension that a check covers. Environment and privileges are not part of a policy; the outcome records
 * them.
 */
const DIMENSION_OF: Readonly<Record<Tried['what'], Dimension | undefined>> = {
  network: 'network_posture',
  file_system: 'allowed_paths',
  environment: undefined,
  privileges: undefined,
};
