import * as z from 'zod/mini';
import { POSTURES } from '../agent-step/policy.ts';
import { between, matching, record, relativePath } from '../shape.ts';

/** The operations on the repository that a policy can forbid. */
export const OPERATIONS = ['commit', 'push', 'delete', 'force', 'configure'] as const;

export type Operation = (typeof OPERATIONS)[number];

export const BUILT_IN_NAMES = ['read-only', 'edit', 'open'] as const;

/** The range of each limit, and the message for a value outside it. */
export const LIMIT_RANGES = {
  timeout_ms: [1_000, 86_400_000, 'The timeout must be from 1 second to 24 hours.'],
  idle_timeout_ms: [100, 86_400_000, 'The idle timeout must be from 100 milliseconds to 24 hours.'],
  tool_idle_timeout_ms: [100, 86_400_000, 'The tool idle timeout must be from 100 milliseconds to 24 hours.'],
  max_turns: [1, 10_000, 'The number of turns must be from 1 to 10,000.'],
  max_requests: [1, 1_000_000, 'The number of requests must be from 1 to 1,000,000.'],
  max_tokens: [1, 1_000_000_000_000, 'The number of tokens must be from 1 to 1,000,000,000,000.'],
  max_cost_usd: [0.01, 10_000, 'The cost must be from 0.01 to 10,000 US dollars.'],
  memory_bytes: [16 * 1024 ** 2, 1024 ** 4, 'The memory limit must be from 16m to 1024g.'],
  pids: [1, 100_000, 'The number of processes must be from 1 to 100,000.'],
  cpu_seconds: [1, 86_400, 'The CPU time must be from 1 second to 24 hours.'],
} as const;

export type AgentLimitName = keyof typeof LIMIT_RANGES;

function limit(name: AgentLimitName) {
  const [least, most] = LIMIT_RANGES[name];
  return z.optional(name === 'max_cost_usd' ? between(least, most) : z.int().check(z.gte(least), z.lte(most)));
}

const limits = Object.fromEntries(
  (Object.keys(LIMIT_RANGES) as AgentLimitName[]).map(name => [name, limit(name)]),
) as Record<AgentLimitName, ReturnType<typeof limit>>;

export const agentPolicyShape = record({
  /** Optional in hand-written files. */
  schema_version: z.optional(z.literal('agent-policy.v1')),
  name: matching(/^[a-z][a-z0-9-]{0,63}$/, 'a name of lower-case letters, digits and hyphens, such as docs-only'),
  extends: z.optional(z.enum(BUILT_IN_NAMES)),
  execution_posture: z.optional(z.enum(POSTURES.execution_posture)),
  network_posture: z.optional(z.enum(POSTURES.network_posture)),
  approval_posture: z.optional(z.enum(POSTURES.approval_posture)),
  allowed_paths: z.optional(z.array(relativePath())),
  forbidden_paths: z.optional(z.array(relativePath())),
  forbidden_operations: z.optional(z.array(z.enum(OPERATIONS))),
  limits: z.optional(record(limits)),
});

export type AgentPolicy = z.infer<typeof agentPolicyShape>;
