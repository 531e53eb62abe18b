import { type EffectivePolicy, POSTURES } from '../agent-step/policy.ts';
import type { AgentPolicy, BUILT_IN_NAMES, Operation } from './shape.ts';

type Postures = Pick<EffectivePolicy, 'execution_posture' | 'network_posture' | 'approval_posture'>;

/** A policy in which every posture is decided. */
export type DecidedPolicy = AgentPolicy & Postures;

/**
 * The three policies that everybody has. None has limits: those are the system's, and a caller may set them as he likes.
 * `open` does not forbid to push, because nobody can tell a push from another connection where the network is open.
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
 * A policy with what it extends: its own postures and paths first, lists of what is forbidden together. One that extends
 * nothing begins with the strictest postures.
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
