import { Fault } from '../base/fault.ts';
import { type AgentPolicy, decided, STRICTEST } from '../contracts/agent-policy/index.ts';
import { inside, plainPath } from '../contracts/agent-step/paths.ts';
import {
  type DIMENSIONS,
  type EffectivePolicy,
  type POSTURE_NAMES,
  POSTURES,
  type RequestedPolicy,
} from '../contracts/agent-step/policy.ts';

export const SYSTEM_SETTINGS: RequestedPolicy = STRICTEST;

/** The settings that the caller tightens for one run. */
export type Overrides = Omit<RequestedPolicy, 'policy_reference'>;

export interface AppliedOverride {
  readonly dimension: (typeof DIMENSIONS)[number];
  readonly note: string;
}

export interface ResolvedPolicy {
  readonly effective: EffectivePolicy;
  readonly appliedOverrides: readonly AppliedOverride[];
  /** The defaults that applied, and the settings that became stricter than requested because of others. */
  readonly notes: readonly string[];
}

/**
 * Merges the system settings, the named policy and the step. The last layer wins, even for allowed paths; forbidden
 * paths and operations accumulate.
 */
export function requestedFrom(
  settings: RequestedPolicy,
  policy: AgentPolicy | undefined,
  step: RequestedPolicy = {},
): RequestedPolicy {
  const named = policy ? requestedBy(policy) : {};
  const layers = [settings, named, step];
  const last = <Key extends keyof RequestedPolicy>(key: Key) =>
    layers.findLast(layer => (layer[key] ?? null) !== null)?.[key] ?? null;
  const all = (key: 'forbidden_paths' | 'forbidden_operations') => [
    ...new Set(layers.flatMap(layer => layer[key] ?? [])),
  ];
  return {
    execution_posture: last('execution_posture'),
    network_posture: last('network_posture'),
    approval_posture: last('approval_posture'),
    allowed_paths: last('allowed_paths'),
    forbidden_paths: all('forbidden_paths'),
    forbidden_operations: all('forbidden_operations'),
    policy_reference: last('policy_reference'),
  };
}

function requestedBy(policy: AgentPolicy): RequestedPolicy {
  const { execution_posture, network_posture, approval_posture, forbidden_operations = [] } = decided(policy);
  const { allowed_paths = null, forbidden_paths = [], name } = policy;
  return {
    execution_posture,
    network_posture,
    approval_posture,
    allowed_paths,
    forbidden_paths,
    forbidden_operations,
    policy_reference: name,
  };
}

/**
 * The policy to enforce. Missing values become the strictest ones, and overrides may only tighten. A path stays allowed
 * only if request and override both allow it.
 */
export function effectivePolicy(requested: RequestedPolicy, overrides: Overrides = {}): ResolvedPolicy {
  const { postures, appliedOverrides, notes } = posturesOf(requested, overrides);
  const forbidden_paths = plainPaths([...(requested.forbidden_paths ?? []), ...(overrides.forbidden_paths ?? [])]);
  const forbidden_operations = [
    ...new Set([...(requested.forbidden_operations ?? []), ...(overrides.forbidden_operations ?? [])]),
  ].sort();
  const asked = plainPaths(requested.allowed_paths ?? ['.']);
  const kept = overrides.allowed_paths ? commonPaths(asked, plainPaths(overrides.allowed_paths)) : asked;
  const isForbidden = inside(forbidden_paths);
  const allowed = kept.filter(path => !isForbidden(path));
  const isReadOnly = postures.execution_posture === 'read_only';
  return {
    effective: {
      ...postures,
      allowed_paths: isReadOnly ? [] : allowed,
      forbidden_paths,
      forbidden_operations,
      policy_reference: requested.policy_reference ?? null,
    },
    appliedOverrides: [...appliedOverrides, ...listsApplied(overrides)],
    notes: [
      ...notes,
      ...(allowed.length < kept.length ? ['allowed_paths: paths inside forbidden_paths are not allowed'] : []),
      ...(!isReadOnly && allowed.length === 0 ? ['allowed_paths: none are left, so nothing may be changed'] : []),
    ],
  };
}

function posturesOf(requested: RequestedPolicy, overrides: Overrides) {
  const notes: string[] = [];
  const appliedOverrides: AppliedOverride[] = [];
  const decide = <Word extends string>(
    dimension: (typeof POSTURE_NAMES)[number],
    fromStrict: readonly Word[],
  ): Word => {
    const [strictest] = fromStrict as readonly [Word];
    const asked = (requested[dimension] ?? undefined) as Word | undefined;
    const wanted = (overrides[dimension] ?? undefined) as Word | undefined;
    if (asked === undefined) notes.push(`${dimension}: not requested, so it is ${strictest}`);
    const before = asked ?? strictest;
    if (wanted === undefined || wanted === before) return before;
    if (fromStrict.indexOf(wanted) > fromStrict.indexOf(before)) {
      throw new Fault(
        'looser_override',
        `Cannot loosen ${dimension} from ${before} to ${wanted}: a run can only tighten its policy. Use a policy that allows it.`,
      );
    }
    appliedOverrides.push({ dimension, note: `Tightened from ${before} to ${wanted} for this run.` });
    return wanted;
  };
  const execution_posture = decide('execution_posture', POSTURES.execution_posture);
  const network_posture = decide('network_posture', POSTURES.network_posture);
  const approval_posture = decide('approval_posture', POSTURES.approval_posture);
  const isIdle = execution_posture === 'read_only' && approval_posture === 'bounded_auto_approve';
  if (isIdle) notes.push('approval_posture: read_only leaves nothing to approve, so it is deny_interactive');
  const postures: Pick<EffectivePolicy, (typeof POSTURE_NAMES)[number]> = {
    execution_posture,
    network_posture,
    approval_posture: isIdle ? 'deny_interactive' : approval_posture,
  };
  return { postures, appliedOverrides, notes };
}

function* listsApplied(overrides: Overrides): Generator<AppliedOverride> {
  if (overrides.allowed_paths) {
    yield { dimension: 'allowed_paths', note: 'Restricted to the paths that this run allows.' };
  }
  for (const dimension of ['forbidden_paths', 'forbidden_operations'] as const) {
    const more = overrides[dimension]?.length ?? 0;
    if (more > 0) yield { dimension, note: `Also forbidden for this run: ${more}.` };
  }
}

function plainPaths(paths: readonly string[]): string[] {
  return [...new Set(paths.map(plainPath))].sort();
}

/** The intersection of two lists: of two overlapping paths, the deeper one. */
function commonPaths(ours: readonly string[], theirs: readonly string[]): string[] {
  return plainPaths([...ours.filter(inside(theirs)), ...theirs.filter(inside(ours))]);
}
