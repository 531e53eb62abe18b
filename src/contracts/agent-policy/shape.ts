import * as z from 'zod/mini';
import { POSTURES } from '../agent-step/policy.ts';
import { between, matching, record, relativePath } from '../shape.ts';

/** What an agent can be forbidden to do with the repository it works in. */
export const OPERATIONS = ['commit', 'push', 'delete', 'force', 'configure'] as const;

export type Operation = (typeof OPERATIONS)[number];

export const BUILT_IN_NAMES = ['read-only', 'edit', 'open'] as const;

/** From where to where each limit may be set, and the same as a sentence. */
export const LIMIT_RANGES = {
  timeout_ms: [1_000, 86_400_000, 'The timeout must be from 1 second to 24 hours.'],
  idle_timeout_ms: [100, 86_400_000, 'The idle timeout must be from 100 milliseconds to 24 hours.'],
  tool_idle_timeout_ms: [100, 86_400_000, 'The idle timeout of tools must be from 100 milliseconds to 24 hours.'],
  max_turns: [1, 10_000, 'The number of turns must be from 1 to 10,000.'],
  max_requests: [1, 1_000_000, 'The number of requests must be from 1 to 1,000,000.'],
  max_tokens: [1, 1_000_000_000_000, 'The number of tokens must be from 1 to 1,000,000,000,000.'],
  max_cost_usd: [0.01, 10_000, 'The cost must be from 0.01 to 10,000 US dollars.'],
  memory_bytes: [16 * 1024 ** 2, 1024 ** 4, 'The memory must be from 16m to 1024g.'],
  pids: [1, 100_000, 'The number of processes must be from 1 to 100,000.'],
  cpu_seconds: [1, 86_400, 'The processor time must be from 1 second to a day.'],
} as const;

export type LimitName = keyof typeof LIMIT_RANGES;

function limit(name: LimitName) {
  const [least, most] = LIMIT_RANGES[name];
  return z.optional(name === 'max_cost_usd' ? between(least, most) : z.int().check(z.gte(least), z.lte(most)));
}

export const agentPolicyShape = record({
  /** May be left out of files that people write. */
  schema_version: z.optional(z.literal('agent-policy.v1')),
  name: matching(/^[a-z][a-z0-9-]{0,63}$/, 'a name of lower-case letters, digits and hyphens, such as docs-only'),
  extends: z.optional(z.enum(BUILT_IN_NAMES)),
  execution_posture: z.optional(z.enum(POSTURES.execution_posture)),
  network_posture: z.optional(z.enum(POSTURES.network_posture)),
  approval_posture: z.optional(z.enum(POSTURES.approval_posture)),
  allowed_paths: z.optional(z.array(relativePath())),
  forbidden_paths: z.optional(z.array(relativePath())),
  forbidden_operations: z.optional(z.array(z.enum(OPERATIONS))),
  limits: z.optional(
    record({
      timeout_ms: limit('timeout_ms'),
      idle_timeout_ms: limit('idle_timeout_ms'),
      tool_idle_timeout_ms: limit('tool_idle_timeout_ms'),
      max_turns: limit('max_turns'),
      max_requests: limit('max_requests'),
      max_tokens: limit('max_tokens'),
      max_cost_usd: limit('max_cost_usd'),
      memory_bytes: limit('memory_bytes'),
      pids: limit('pids'),
      cpu_seconds: limit('cpu_seconds'),
    }),
  ),
});

export type AgentPolicy = z.infer<typeof agentPolicyShape>;
