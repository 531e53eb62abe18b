import type { AgentCall } from '../../src/adapters/agent.ts';
import { type EffectivePolicy, POSTURES } from '../../src/contracts/agent-step/policy.ts';

const REST = { allowed_paths: ['.'], forbidden_paths: [], forbidden_operations: [] };

/** Every combination of postures. */
export const POLICIES: readonly EffectivePolicy[] = [...policies()];

function* policies(): Generator<EffectivePolicy> {
  for (const execution_posture of POSTURES.execution_posture) {
    for (const network_posture of POSTURES.network_posture) {
      for (const approval_posture of POSTURES.approval_posture) {
        yield { execution_posture, network_posture, approval_posture, ...REST };
      }
    }
  }
}

/** The invocation of an unattended agent that may write but has no network. */
export const CALL: AgentCall = {
  version: '2.1.325',
  task: 'Fix the dates.',
  policy: {
    execution_posture: 'workspace_write',
    network_posture: 'deny',
    approval_posture: 'deny_interactive',
    ...REST,
  },
  model: undefined,
  maxTurns: undefined,
  maxCostUsd: undefined,
  sessionId: '11111111-2222-4333-8444-555555555555',
  workFolder: '/work',
  home: '/agent/home',
  toolFolder: '/opt/proctor',
  door: { url: 'http://127.0.0.1:8417', token: 'tok-1', as: 'key' },
  nestedSandbox: false,
  context: undefined,
};
