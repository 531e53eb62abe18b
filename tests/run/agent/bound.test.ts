import { describe, expect, test } from 'vitest';
import { AGENTS } from '../../../src/adapters/agents.ts';
import type { AgentAdapter } from '../../../src/adapters/agent.ts';
import { boundFor, clocksOf } from '../../../src/run/agent/bound.ts';
import { type AgentOrder, checkAgentOrder } from '../../../src/run/agent/order.ts';

const [claude, codex] = AGENTS as [AgentAdapter, AgentAdapter];
const OFFERS = [
  {
    sandbox: 'process',
    isolation: 'strict',
    lacks: [],
    machine: { kind: 'cgroup_v1', dividesCpus: true, countsSockets: true },
  },
] as const;
const order = (parts: Partial<AgentOrder>): AgentOrder => ({
  agent: 'claude',
  task: 'Do it.',
  dir: '.',
  policy: 'edit',
  environment: {},
  cwd: '.',
  ...parts,
});
const bound = (parts: Partial<AgentOrder>, adapter = claude) => boundFor(order(parts), adapter, OFFERS);

describe("an agent's limits", () => {
  test('are those of the policy', () => {
    expect(bound({}).effective).toMatchObject({ execution_posture: 'workspace_write', network_posture: 'deny' });
    expect(bound({}).bounds).toMatchObject({ network: 'blocked', sandbox: 'process' });
    expect(bound({ policy: 'open' }).bounds.network).toBe('open');
    expect(bound({ policy: 'open' }, codex).effective.network_posture).toBe('allow');
  });

  test('can be tightened for one run, and the summary lists what was tightened', () => {
    const overrides = {
      allowed_paths: ['src/a', 'docs'],
      forbidden_paths: ['src/a/b'],
      forbidden_operations: ['commit'],
    };
    const { effective, requested, summary } = bound({ overrides });
    expect(effective).toMatchObject({ allowed_paths: ['docs', 'src/a'], forbidden_paths: ['src/a/b'] });
    expect(effective.forbidden_operations).toEqual(['commit', 'force', 'push']);
    expect(requested.forbidden_operations).toEqual(['push', 'force']);
    expect(summary.appliedOverrides.map(({ dimension }) => dimension)).toEqual([
      'allowed_paths',
      'forbidden_paths',
      'forbidden_operations',
    ]);
  });

  test('are never loosened', () => {
    expect(() => bound({ policy: 'read-only', overrides: { execution_posture: 'workspace_write' } })).toThrow(
      'Cannot loosen execution_posture from read_only to workspace_write',
    );
  });

  test('are refused if nothing can enforce them', () => {
    expect(() => bound({ maxCostUsd: 1 }, codex)).toThrow('Cannot enforce max_cost_usd: codex');
    expect(() => bound({ policy: 'open', overrides: { forbidden_operations: ['push'] } })).toThrow('push');
  });

  test('include three timeouts and a grace period', () => {
    expect(clocksOf(bound({ timeoutMs: 300_000, idleMs: 90_000 }))).toEqual({
      timeout_ms: 300_000,
      idle_timeout_ms: 90_000,
      tool_idle_timeout_ms: 300_000,
      grace_ms: 10_000,
    });
  });
});

describe('a request to run an agent', () => {
  test.each<[string, Partial<AgentOrder>, string]>([
    ['with an unknown agent', { agent: 'claud' }, 'Unknown agent "claud". Did you mean "claude"? Use claude or codex.'],
    ['without a task', { task: ' \n' }, 'The task is empty. Describe what the agent should do.'],
    ['with a task of a megabyte', { task: 'x'.repeat(1_000_000) }, 'The task is too long: 1000000 bytes'],
    [
      'with half a surrogate pair in its task',
      { task: 'a\ud800' },
      'The task contains a NUL or half a surrogate pair.',
    ],
    [
      'with a path that contains ..',
      { overrides: { allowed_paths: ['../x'] } },
      '"../x" is not a path below the folder: it contains ".."',
    ],
    [
      'with a credential variable as a secret',
      { secrets: { OPENAI_KEY: 'x' } },
      'The variable OPENAI_KEY cannot be passed to a run',
    ],
    ['with a recording but no model mode', { recording: 'x' }, '--recording requires --model-mode'],
    [
      'with the model mode replay but no recording',
      { modelMode: 'replay' },
      '--model-mode replay requires --recording FILE',
    ],
    ['with a model name that looks like a flag', { model: '--help' }, 'The model name is not valid'],
    ['with a prompt reference of two lines', { promptReference: 'a\nb' }, 'The prompt reference must have'],
  ])('%s is refused', (_, parts, sentence) => {
    expect(() => checkAgentOrder(order(parts))).toThrow(sentence);
  });
});
