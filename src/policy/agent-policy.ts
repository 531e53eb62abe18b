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

/** What binds every agent of a system before anybody asks for anything: the strictest. */
export const SYSTEM_SETTINGS: RequestedPolicy = STRICTEST;

/** What a caller wants tighter than the policy it names has it. */
export type Overrides = Omit<RequestedPolicy, 'policy_reference'>;

export interface AppliedOverride {
  readonly dimension: (typeof DIMENSIONS)[number];
  readonly note: string;
}

export interface Decided {
  readonly effective: EffectivePolicy;
  readonly appliedOverrides: readonly AppliedOverride[];
  /** What was decided where nothing was said, or what was said together leaves less. */
  readonly notes: readonly string[];
}

/**
 * What is asked for, out of what the system has set, the policy that was named, and what the step itself says. The later
 * word counts; allowed paths are replaced, and what is forbidden only grows.
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
 * From what was asked to what will be enforced. What nobody said is the strictest; overrides may only tighten. Paths that
 * are allowed by all who speak of them stay allowed, and where none are left, nothing may be written.
 */
export function effectivePolicy(requested: RequestedPolicy, overrides: Overrides = {}): Decided {
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
      // Nothing may be written, so no path is one that may be.
      allowed_paths: isReadOnly ? [] : allowed,
      forbidden_paths,
      forbidden_operations,
      policy_reference: requested.policy_reference ?? null,
    },
    appliedOverrides: [...appliedOverrides, ...listsApplied(overrides)],
    notes: [
      ...notes,
      ...(allowed.length < kept.length ? ['allowed_paths: what forbidden_paths cover is not allowed'] : []),
      ...(!isReadOnly && allowed.length === 0 ? ['allowed_paths: none is left, so nothing may be changed'] : []),
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
    if (asked === undefined) notes.push(`${dimension}: nothing was asked for, so it is ${strictest}`);
    const before = asked ?? strictest;
    if (wanted === undefined || wanted === before) return before;
    if (fromStrict.indexOf(wanted) > fromStrict.indexOf(before)) {
      throw new Fault(
        'looser_override',
        `${dimension} cannot be loosened from ${before} to ${wanted}: a run may only be tighter than its policy. Another policy may allow it.`,
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
    yield { dimension: 'allowed_paths', note: 'Only what this run allows, too, is allowed.' };
  }
  for (const dimension of ['forbidden_paths', 'forbidden_operations'] as const) {
    const more = overrides[dimension]?.length ?? 0;
    if (more > 0) yield { dimension, note: `Forbidden for this run, too: ${more}.` };
  }
}

function plainPaths(paths: readonly string[]): string[] {
  return [...new Set(paths.map(plainPath))].sort();
}

/** What lies in a path of both lists: of two that overlap, the deeper one. */
function commonPaths(ours: readonly string[], theirs: readonly string[]): string[] {
  return plainPaths([...ours.filter(inside(theirs)), ...theirs.filter(inside(ours))]);
}
