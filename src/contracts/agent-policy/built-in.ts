import { type EffectivePolicy, POSTURES } from '../agent-step/policy.ts';
import type { AgentPolicy, BUILT_IN_NAMES, Operation } from './shape.ts';

type Postures = Pick<EffectivePolicy, 'execution_posture' | 'network_posture' | 'approval_posture'>;

/** A policy with all postures set. */
export type DecidedPolicy = AgentPolicy & Postures;

/**
 * The built-in policies. They set no limits, so the system's defaults apply and a caller may set others. `open` does not
 * forbid push, because a push cannot be told apart from other connections once the network is open.
 */
export const builtInPolicies: Readonly<Record<(typeof BUILT_IN_NAMES)[number], DecidedPolicy>> = {
  'read-only': {
    schema_version: 'agent-policy.v1',
    name: 'read-only',
    execution_posture: 'read_only',
    network_posture: 'deny',
    approval_posture: 'deny_interactive',
    forbidden_operations: ['commit', 'push', 'delete', 'force', 'configure'],
  },
  edit: {
    schema_version: 'agent-policy.v1',
    name: 'edit',
    execution_posture: 'workspace_write',
    network_posture: 'deny',
    approval_posture: 'deny_interactive',
    forbidden_operations: ['push', 'force'],
  },
  open: {
    schema_version: 'agent-policy.v1',
    name: 'open',
    execution_posture: 'workspace_write',
    network_posture: 'allow',
    approval_posture: 'bounded_auto_approve',
    forbidden_operations: [],
  },
};

export function builtInPolicy(name: string): DecidedPolicy | undefined {
  return Object.hasOwn(builtInPolicies, name) ? builtInPolicies[name as keyof typeof builtInPolicies] : undefined;
}

/**
 * Merges a policy with the one it extends: its postures override, and its forbidden operations are added. A policy that
 * extends nothing gets the strictest postures.
 */
export function decided(policy: AgentPolicy): DecidedPolicy {
  const base: Postures & Partial<AgentPolicy> = (policy.extends && builtInPolicies[policy.extends]) ?? STRICTEST;
  const forbidden: readonly Operation[] = [
    ...(base.forbidden_operations ?? []),
    ...(policy.forbidden_operations ?? []),
  ];
  return {
    ...policy,
    execution_posture: policy.execution_posture ?? base.execution_posture,
    network_posture: policy.network_posture ?? base.network_posture,
    approval_posture: policy.approval_posture ?? base.approval_posture,
    forbidden_operations: [...new Set(forbidden)],
  };
}

export const STRICTEST: Postures = {
  execution_posture: POSTURES.execution_posture[0],
  network_posture: POSTURES.network_posture[0],
  approval_posture: POSTURES.approval_posture[0],
};
