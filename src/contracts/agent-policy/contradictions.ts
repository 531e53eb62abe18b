import { inside } from '../agent-step/paths.ts';
import { type Finding, must } from '../rule.ts';
import { decided } from './built-in.ts';
import type { AgentPolicy } from './shape.ts';

/** Two keys of one policy of which only one can be meant. Each finding names both. */
export function* contradictions(policy: AgentPolicy): Generator<Finding> {
  const { execution_posture, network_posture, approval_posture } = decided(policy);
  const { allowed_paths, forbidden_paths = [], forbidden_operations = [], limits = {} } = policy;
  const byDefault = policy.execution_posture || policy.extends ? '' : ', which it is where nothing is said';
  if (execution_posture === 'read_only') {
    if (allowed_paths && allowed_paths.length > 0) {
      yield must('allowed_paths', `allows writing where execution_posture is "read_only"${byDefault}`);
    }
    if (approval_posture === 'bounded_auto_approve') {
      yield must(
        'approval_posture',
        `cannot be "bounded_auto_approve" where execution_posture is "read_only"${byDefault}: there is nothing to approve`,
      );
    }
  } else {
    if (allowed_paths?.length === 0) {
      yield must('allowed_paths', 'allows nothing where execution_posture is "workspace_write"; "read_only" says so');
    }
    const isForbidden = inside(forbidden_paths);
    if (isForbidden('.')) yield must('forbidden_paths', 'leaves nothing of the paths that allowed_paths allows');
    else {
      for (const [index, path] of (allowed_paths ?? []).entries()) {
        if (isForbidden(path)) yield must(`allowed_paths[${index}]`, 'lies wholly inside a path of forbidden_paths');
      }
    }
  }
  // Where what it extends forbids to push, the network is closed, and opening it is what is wrong.
  if (network_posture === 'allow' && forbidden_operations.includes('push')) {
    yield must(
      'forbidden_operations',
      'cannot hold "push" where network_posture is "allow": nobody can tell a push from another connection',
    );
  }
  const { timeout_ms, idle_timeout_ms, tool_idle_timeout_ms } = limits;
  for (const [shorter, longer, ms, msMax] of [
    ['idle_timeout_ms', 'timeout_ms', idle_timeout_ms, timeout_ms],
    ['tool_idle_timeout_ms', 'timeout_ms', tool_idle_timeout_ms, timeout_ms],
    ['idle_timeout_ms', 'tool_idle_timeout_ms', idle_timeout_ms, tool_idle_timeout_ms],
  ] as const) {
    if (ms !== undefined && msMax !== undefined && ms > msMax) {
      yield must(`limits.${shorter}`, `is longer than limits.${longer}, and would never be reached`);
    }
  }
}
