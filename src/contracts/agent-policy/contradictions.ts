import { inside } from '../agent-step/paths.ts';
import { type Finding, must } from '../rule.ts';
import { decided } from './built-in.ts';
import type { AgentPolicy } from './shape.ts';

/** Finds pairs of keys that contradict each other. Each finding names both. */
export function* contradictions(policy: AgentPolicy): Generator<Finding> {
  const { execution_posture, network_posture, approval_posture } = decided(policy);
  const { allowed_paths, forbidden_paths = [], forbidden_operations = [], limits = {} } = policy;
  const byDefault = policy.execution_posture || policy.extends ? '' : ' (the default)';
  if (execution_posture === 'read_only') {
    if (allowed_paths && allowed_paths.length > 0) {
      yield must('allowed_paths', `must be empty or absent because execution_posture is "read_only"${byDefault}`);
    }
    if (approval_posture === 'bounded_auto_approve') {
      yield must(
        'approval_posture',
        `cannot be "bounded_auto_approve" because execution_posture is "read_only"${byDefault}: there is nothing to approve`,
      );
    }
  } else {
    if (allowed_paths?.length === 0) {
      yield must(
        'allowed_paths',
        'allows nothing although execution_posture is "workspace_write"; use "read_only" instead',
      );
    }
    const isForbidden = inside(forbidden_paths);
    if (isForbidden('.')) yield must('forbidden_paths', 'forbids every path that allowed_paths allows');
    else {
      for (const [index, path] of (allowed_paths ?? []).entries()) {
        if (isForbidden(path)) yield must(`allowed_paths[${index}]`, 'is inside a forbidden path');
      }
    }
  }
  // A built-in policy that forbids push also denies the network, so AP8 reports a policy that reopens it.
  if (network_posture === 'allow' && forbidden_operations.includes('push')) {
    yield must(
      'forbidden_operations',
      'cannot include "push" because network_posture is "allow": a push cannot be told apart from other connections',
    );
  }
  const { timeout_ms, idle_timeout_ms, tool_idle_timeout_ms } = limits;
  for (const [shorter, longer, ms, msMax] of [
    ['idle_timeout_ms', 'timeout_ms', idle_timeout_ms, timeout_ms],
    ['tool_idle_timeout_ms', 'timeout_ms', tool_idle_timeout_ms, timeout_ms],
    ['idle_timeout_ms', 'tool_idle_timeout_ms', idle_timeout_ms, tool_idle_timeout_ms],
  ] as const) {
    if (ms !== undefined && msMax !== undefined && ms > msMax) {
      yield must(`limits.${shorter}`, `is longer than limits.${longer}, so it would never be reached`);
    }
  }
}
