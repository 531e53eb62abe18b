import { Fault } from '../base/fault.ts';
import { type AgentPolicy, LIMIT_RANGES, type AgentLimitName } from '../contracts/agent-policy/index.ts';

/** An agent's effective limits. Absent means unlimited. */
export interface AgentLimits {
  readonly timeoutMs: number;
  /** The maximum time without progress. */
  readonly idleMs: number;
  /** The same while a tool runs, which can be silent for longer. Never more than `timeoutMs`. */
  readonly toolIdleMs: number;
  readonly maxTurns?: number;
  /** Requests that the model answers, and the tokens of all answers, as counted by the model proxy. */
  readonly maxRequests?: number;
  readonly maxTokens?: number;
  readonly maxCostUsd?: number;
  readonly memoryBytes?: number;
  readonly pids?: number;
  readonly cpuSeconds?: number;
}

export type RequestedAgentLimits = Partial<AgentLimits>;

export const AGENT_DEFAULTS = {
  timeoutMs: 600_000,
  idleMs: 120_000,
  toolIdleMs: 600_000,
  memoryBytes: 4 * 1024 ** 3,
  pids: 512,
} as const satisfies RequestedAgentLimits;

const NAMES = {
  timeoutMs: 'timeout_ms',
  idleMs: 'idle_timeout_ms',
  toolIdleMs: 'tool_idle_timeout_ms',
  maxTurns: 'max_turns',
  maxRequests: 'max_requests',
  maxTokens: 'max_tokens',
  maxCostUsd: 'max_cost_usd',
  memoryBytes: 'memory_bytes',
  pids: 'pids',
  cpuSeconds: 'cpu_seconds',
} as const satisfies Record<keyof AgentLimits, AgentLimitName>;

/**
 * The requested limits, tightened to the policy's limits, with a warning for each change. Throws for a limit that
 * cannot be enforced.
 */
export function agentLimits(
  asked: RequestedAgentLimits,
  policy: Pick<AgentPolicy, 'name' | 'limits'> | undefined,
  sandbox: 'none' | 'process',
): { readonly limits: AgentLimits; readonly warnings: readonly string[] } {
  const warnings: string[] = [];
  const tightest = (key: keyof AgentLimits): number | undefined => {
    const name = NAMES[key];
    const wanted = within(name, asked[key]);
    const allowed = policy?.limits?.[name];
    if (allowed === undefined || wanted === undefined) return wanted ?? allowed;
    if (wanted > allowed) warnings.push(`${name}: requested ${wanted}, but policy ${policy?.name} allows ${allowed}`);
    return Math.min(wanted, allowed);
  };
  const set = (keys: readonly (keyof AgentLimits)[]): RequestedAgentLimits =>
    Object.fromEntries(keys.map(key => [key, tightest(key)]).filter(([, value]) => value !== undefined));
  const timeoutMs = tightest('timeoutMs') ?? AGENT_DEFAULTS.timeoutMs;
  const idle = tightest('idleMs');
  const toolIdleMs = Math.min(tightest('toolIdleMs') ?? Math.max(AGENT_DEFAULTS.toolIdleMs, idle ?? 0), timeoutMs);
  const counted = set(['maxTurns', 'maxRequests', 'maxTokens', 'maxCostUsd']);
  const ofSandbox = set(['memoryBytes', 'pids', 'cpuSeconds']);
  if (sandbox === 'none') refuseLimits(ofSandbox);
  return {
    limits: {
      timeoutMs,
      idleMs: Math.min(idle ?? AGENT_DEFAULTS.idleMs, toolIdleMs),
      toolIdleMs,
      ...counted,
      ...(sandbox !== 'none' && { memoryBytes: AGENT_DEFAULTS.memoryBytes, pids: AGENT_DEFAULTS.pids, ...ofSandbox }),
    },
    warnings: warnings.sort(),
  };
}

const SANDBOX_LIMITS = { memoryBytes: 'memory', pids: 'processes', cpuSeconds: 'CPU time' } as const;

function refuseLimits(limits: RequestedAgentLimits): void {
  for (const [key, what] of Object.entries(SANDBOX_LIMITS)) {
    if (Object.hasOwn(limits, key)) {
      throw new Fault('not_enforceable', `Proctor cannot enforce a limit on ${what} without a sandbox.`);
    }
  }
}

function within(name: AgentLimitName, value: number | undefined): number | undefined {
  const [least, most, sentence] = LIMIT_RANGES[name];
  if (value === undefined) return undefined;
  const isWhole = name === 'max_cost_usd' ? Number.isFinite(value) : Number.isInteger(value);
  if (!isWhole || value < least || value > most) throw new Fault('out_of_bounds', sentence);
  return value;
}
