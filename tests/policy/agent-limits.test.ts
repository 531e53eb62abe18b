import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Fault } from '../../src/base/fault.ts';
import { LIMIT_RANGES } from '../../src/contracts/agent-policy/index.ts';
import { AGENT_DEFAULTS, agentLimits, type RequestedAgentLimits } from '../../src/policy/agent-limits.ts';

function refusal(asked: RequestedAgentLimits, sandbox: 'none' | 'process' = 'process'): string {
  try {
    agentLimits(asked, undefined, sandbox);
  } catch (fault) {
    if (fault instanceof Fault) return `${fault.code}: ${fault.message}`;
    throw fault;
  }
  return 'accepted';
}

describe("an agent's limits", () => {
  test('are the defaults if none are requested', () => {
    expect(agentLimits({}, undefined, 'process')).toEqual({ limits: AGENT_DEFAULTS, warnings: [] });
  });

  test('are tightened to the policy, with a warning', () => {
    const policy = { name: 'mine', limits: { timeout_ms: 60_000, max_turns: 5, memory_bytes: 1024 ** 3 } };
    const { limits, warnings } = agentLimits({ timeoutMs: 90_000, maxTurns: 3, maxCostUsd: 1.5 }, policy, 'process');
    expect(limits).toEqual({
      timeoutMs: 60_000,
      idleMs: 60_000,
      toolIdleMs: 60_000,
      maxTurns: 3,
      maxCostUsd: 1.5,
      memoryBytes: 1024 ** 3,
      pids: 512,
    });
    expect(warnings).toEqual(['timeout_ms: requested 90000, but policy mine allows 60000']);
  });

  test('on requests and tokens are tightened to the policy', () => {
    const policy = { name: 'mine', limits: { max_requests: 5, max_tokens: 1_000 } };
    const { limits, warnings } = agentLimits({ maxRequests: 9, maxTokens: 10 }, policy, 'process');
    expect(limits).toMatchObject({ maxRequests: 5, maxTokens: 10 });
    expect(warnings).toEqual(['max_requests: requested 9, but policy mine allows 5']);
  });

  test('can be as long as a day, and keep idle ≤ tool idle ≤ timeout', () => {
    const { limits } = agentLimits({ timeoutMs: 86_400_000, idleMs: 1_800_000 }, undefined, 'process');
    expect(limits).toMatchObject({ timeoutMs: 86_400_000, idleMs: 1_800_000, toolIdleMs: 1_800_000 });
  });

  test.each([
    [{ timeoutMs: 999 }, LIMIT_RANGES.timeout_ms[2]],
    [{ timeoutMs: 86_400_001 }, LIMIT_RANGES.timeout_ms[2]],
    [{ idleMs: 0.5 }, LIMIT_RANGES.idle_timeout_ms[2]],
    [{ maxTurns: 0 }, LIMIT_RANGES.max_turns[2]],
    [{ maxRequests: 0 }, LIMIT_RANGES.max_requests[2]],
    [{ maxRequests: 1.5 }, LIMIT_RANGES.max_requests[2]],
    [{ maxTokens: 1e13 }, LIMIT_RANGES.max_tokens[2]],
    [{ maxCostUsd: Number.NaN }, LIMIT_RANGES.max_cost_usd[2]],
    [{ memoryBytes: 1 }, LIMIT_RANGES.memory_bytes[2]],
    [{ pids: 1e6 }, LIMIT_RANGES.pids[2]],
    [{ cpuSeconds: -1 }, LIMIT_RANGES.cpu_seconds[2]],
  ] satisfies [RequestedAgentLimits, string][])('of %j are out of range', (asked, sentence) => {
    expect(refusal(asked)).toBe(`out_of_bounds: ${sentence}`);
  });

  test('that need a sandbox are refused without one, and not claimed', () => {
    expect(refusal({ memoryBytes: 1024 ** 3 }, 'none')).toBe(
      'not_enforceable: Proctor cannot enforce a limit on memory without a sandbox.',
    );
    expect(() => agentLimits({}, { name: 'mine', limits: { pids: 10 } }, 'none')).toThrow('a limit on processes');
    expect(Object.keys(agentLimits({}, undefined, 'none').limits)).toEqual(['timeoutMs', 'idleMs', 'toolIdleMs']);
  });

  test('are never looser than requested or allowed, and keep idle ≤ tool idle ≤ timeout', () => {
    const ms = fc.option(fc.integer({ min: 1_000, max: 86_400_000 }), { nil: undefined });
    fc.assert(
      fc.property(ms, ms, ms, ms, ms, ms, (timeoutMs, idleMs, toolIdleMs, timeout_ms, idle_timeout_ms, tool) => {
        const asked = given({ timeoutMs, idleMs, toolIdleMs });
        const allowed = given({ timeout_ms, idle_timeout_ms, tool_idle_timeout_ms: tool });
        const { limits } = agentLimits(asked, { name: 'mine', limits: allowed }, 'process');
        expect(limits.timeoutMs).toBeLessThanOrEqual(Math.min(timeoutMs ?? Infinity, timeout_ms ?? Infinity));
        expect(limits.idleMs).toBeLessThanOrEqual(Math.min(idleMs ?? Infinity, idle_timeout_ms ?? Infinity));
        expect(limits.toolIdleMs).toBeLessThanOrEqual(Math.min(toolIdleMs ?? Infinity, tool ?? Infinity));
        expect(limits.idleMs).toBeLessThanOrEqual(limits.toolIdleMs);
        expect(limits.toolIdleMs).toBeLessThanOrEqual(limits.timeoutMs);
      }),
    );
  });
});

function given<T extends object>(values: T): { [Key in keyof T]?: NonNullable<T[Key]> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never;
}
