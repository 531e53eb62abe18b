import { canonicalize } from '../../base/canonical.ts';
import { POSTURE_NAMES, POSTURES } from '../agent-step/policy.ts';
import { ASKS } from '../agent-step/words.ts';
import { type Contract, MIB } from '../contract.ts';
import { uniqueAdvice } from '../lists.ts';
import { must, rulesFor } from '../rule.ts';
import { builtInPolicies, builtInPolicy } from './built-in.ts';
import { contradictions } from './contradictions.ts';
import { type AgentPolicy, agentPolicyShape, OPERATIONS } from './shape.ts';

export { builtInPolicies, builtInPolicy, decided, STRICTEST } from './built-in.ts';
export { type AgentPolicy, LIMIT_RANGES, type LimitName, OPERATIONS, type Operation } from './shape.ts';

const rule = rulesFor<AgentPolicy>();

const AP1 = rule({
  id: 'AP1',
  title: 'Agent Policy Version Known',
  why: 'A key with a slip in it would bind nobody, and look as if it did.',
  asks: [
    'schema_version, if present, is "agent-policy.v1"; files that people write may leave it out',
    'should (must, when strict): no key is unknown',
  ],
  fields: ['schema_version'],
  breach: policy => ({ ...policy, schema_version: 'agent-policy.v9' }),
});

const AP2 = rule({
  id: 'AP2',
  title: 'Agent Policy Named',
  why: 'A run names the policy it was bound by, and whoever reads "read-only" must be able to rely on what that is.',
  asks: [
    'name is lower-case letters, digits and hyphens, at most 64',
    'name is that of a built-in policy (read-only, edit, open) only with the same content',
  ],
  fields: ['name'],
  reads: [
    'schema_version',
    'extends',
    'execution_posture',
    'network_posture',
    'approval_posture',
    'allowed_paths',
    'forbidden_paths',
    'forbidden_operations',
    'limits',
  ],
  *check(policy) {
    const builtIn = builtInPolicy(policy.name);
    if (builtIn && canonicalize({ schema_version: 'agent-policy.v1', ...policy }) !== canonicalize(builtIn)) {
      yield must('name', 'is that of a built-in policy, whose content is another');
    }
  },
  breach: policy => ({ ...policy, name: 'edit' }),
});

const AP3 = rule({
  id: 'AP3',
  title: 'Agent Postures Known',
  why: 'A posture that nobody knows is enforced by nobody.',
  asks: [
    'execution_posture, if present, is read_only or workspace_write',
    'network_posture, if present, is deny (nothing but the API of the model) or allow',
    'approval_posture, if present, is fail_on_prompt, deny_interactive or bounded_auto_approve',
    'what is absent is as in the policy that is extended, and the first of these words where none is',
  ],
  fields: ['execution_posture', 'network_posture', 'approval_posture'],
  breach: policy => ({ ...policy, network_posture: 'some' }),
});

const AP4 = rule({
  id: 'AP4',
  title: 'Agent Paths Relative',
  why: 'A path outside the work tree can neither be allowed nor kept from an agent that works in a copy.',
  asks: [
    'allowed_paths, if present, is a list of relative paths that may be changed; the whole work tree if absent',
    'forbidden_paths, if present, is a list of relative paths that may not be changed, whatever is allowed',
    ...ASKS.relativePath,
    'should: nothing stands twice in a list',
  ],
  fields: ['allowed_paths', 'forbidden_paths'],
  *check({ allowed_paths = [], forbidden_paths = [] }) {
    yield* uniqueAdvice(allowed_paths, 'allowed_paths');
    yield* uniqueAdvice(forbidden_paths, 'forbidden_paths');
  },
  breach: policy => ({ ...policy, forbidden_paths: ['../secrets'] }),
});

const AP5 = rule({
  id: 'AP5',
  title: 'Agent Operations Known',
  why: 'Only what somebody looks for afterwards can be forbidden.',
  asks: [
    `forbidden_operations, if present, is a list of ${OPERATIONS.join(', ')}`,
    'commit is a new commit, delete a file that is gone, force a branch that was moved back or aside',
    'configure is a change of the configuration or the hooks of the repository, push whatever leaves it',
    'what the policy that is extended forbids stays forbidden',
    'should: nothing stands twice',
  ],
  fields: ['forbidden_operations'],
  *check({ forbidden_operations = [] }) {
    yield* uniqueAdvice(forbidden_operations, 'forbidden_operations');
  },
  breach: policy => ({ ...policy, forbidden_operations: ['rebase'] }),
});

const AP6 = rule({
  id: 'AP6',
  title: 'Agent Limits Within Bounds',
  why: 'A policy of your own may be anything but unbounded.',
  asks: [
    'limits, if present, may have timeout_ms, from 1,000 to 86,400,000',
    'limits may have idle_timeout_ms and, for silence while a tool runs, tool_idle_timeout_ms, from 100 to 86,400,000',
    'limits may have max_turns, from 1 to 10,000, and max_cost_usd, from 0.01 to 10,000',
    'limits may have max_requests, from 1 to 1,000,000, and max_tokens, from 1 to 1,000,000,000,000, which the door counts',
    'limits may have memory_bytes, from 16 MiB to 1 TiB, pids, from 1 to 100,000, and cpu_seconds, from 1 to 86,400',
    'all but max_cost_usd are whole numbers',
  ],
  fields: ['limits'],
  breach: policy => ({ ...policy, limits: { timeout_ms: 10 } }),
});

const AP7 = rule({
  id: 'AP7',
  title: 'Agent Policy Says One Thing',
  why: 'Of two keys that contradict each other one is not meant, and nobody can tell which.',
  asks: [
    'allowed_paths is absent or empty where execution_posture is read_only, and never empty where it is workspace_write',
    'approval_posture is not bounded_auto_approve where execution_posture is read_only',
    'allowed_paths holds no path that equals or lies below one of forbidden_paths, and forbidden_paths not everything',
    'forbidden_operations does not hold push where network_posture is allow',
    'idle_timeout_ms is not longer than tool_idle_timeout_ms, and neither longer than timeout_ms',
    'keys that are absent have the values of the policy that is extended, or the strictest',
  ],
  fields: [],
  reads: [
    'extends',
    'execution_posture',
    'network_posture',
    'approval_posture',
    'allowed_paths',
    'forbidden_paths',
    'forbidden_operations',
    'limits',
  ],
  // The name has no part in it, but a policy has one.
  check: policy => contradictions({ name: '', ...policy }),
  breach: policy => ({ ...policy, allowed_paths: ['docs/generated/api'] }),
});

const AP8 = rule({
  id: 'AP8',
  title: 'Agent Policy Only Tightened',
  why: 'Whoever reads what a policy extends must be able to rely on it.',
  asks: [
    'extends, if present, is read-only, edit or open',
    'execution_posture, network_posture and approval_posture are not looser than those of the policy that is extended',
  ],
  fields: ['extends'],
  reads: ['execution_posture', 'network_posture', 'approval_posture'],
  *check(policy) {
    const base = policy.extends && builtInPolicies[policy.extends];
    if (!base) return;
    for (const posture of POSTURE_NAMES) {
      const fromStrict: readonly string[] = POSTURES[posture];
      const said = policy[posture];
      if (said !== undefined && fromStrict.indexOf(said) > fromStrict.indexOf(base[posture])) {
        yield must(posture, `is looser than "${base[posture]}", which extends: ${base.name} stands for`);
      }
    }
  },
  breach: policy => ({ ...policy, approval_posture: 'bounded_auto_approve' }),
});

const example: AgentPolicy = {
  schema_version: 'agent-policy.v1',
  name: 'docs-only',
  extends: 'edit',
  approval_posture: 'fail_on_prompt',
  allowed_paths: ['docs', 'README.md'],
  forbidden_paths: ['docs/generated'],
  forbidden_operations: ['commit', 'delete'],
  limits: {
    timeout_ms: 900_000,
    idle_timeout_ms: 60_000,
    tool_idle_timeout_ms: 300_000,
    max_turns: 40,
    max_cost_usd: 2.5,
    memory_bytes: 2 * 1024 ** 3,
    pids: 256,
    cpu_seconds: 600,
  },
};

export const agentPolicy: Contract = {
  name: 'agent-policy',
  title: 'Agent policy',
  tells: 'What an agent may do: write, reach, approve, change and use up.',
  source: 'Runner Contract (agent steps), sections 3 and 9',
  version: { field: 'schema_version', value: 'agent-policy.v1' },
  shape: agentPolicyShape,
  rules: [AP1, AP2, AP3, AP4, AP5, AP6, AP7, AP8],
  unknownKeys: 'AP1',
  beyond: ['whether an agent and a sandbox on this machine can enforce it, which is judged before a run starts'],
  bytesMax: MIB,
  example,
};
