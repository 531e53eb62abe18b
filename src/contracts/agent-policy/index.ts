import { canonicalize } from '../../base/canonical.ts';
import { POSTURE_NAMES, POSTURES } from '../agent-step/policy.ts';
import { STEP_ASKS } from '../agent-step/words.ts';
import { type Contract, MIB } from '../contract.ts';
import { uniqueAdvice } from '../lists.ts';
import { must, rulesFor, NO_UNKNOWN_KEYS } from '../rule.ts';
import { builtInPolicies, builtInPolicy } from './built-in.ts';
import { contradictions } from './contradictions.ts';
import { type AgentPolicy, agentPolicyShape, OPERATIONS } from './shape.ts';

export { builtInPolicies, builtInPolicy, decided, STRICTEST } from './built-in.ts';
export { type AgentPolicy, LIMIT_RANGES, type AgentLimitName, OPERATIONS, type Operation } from './shape.ts';

const rule = rulesFor<AgentPolicy>();

/** The keys that decide what an agent may do. */
const CONTENT = [
  'extends',
  'execution_posture',
  'network_posture',
  'approval_posture',
  'allowed_paths',
  'forbidden_paths',
  'forbidden_operations',
  'limits',
] as const;

const AP1 = rule({
  id: 'AP1',
  title: 'Agent Policy Version Known',
  why: 'A misspelled key looks like a restriction but enforces nothing.',
  asks: ['schema_version, if present, is "agent-policy.v1"; hand-written files may omit it', NO_UNKNOWN_KEYS],
  fields: ['schema_version'],
  breach: policy => ({ ...policy, schema_version: 'agent-policy.v9' }),
});

const AP2 = rule({
  id: 'AP2',
  title: 'Agent Policy Named',
  why: 'A run records the name of its policy, and a name such as "read-only" must always mean the same policy.',
  asks: [
    'name is 1 to 64 lower-case letters, digits and hyphens, and starts with a letter',
    'a policy with a built-in name (read-only, edit, open) has the content of that built-in policy',
  ],
  fields: ['name'],
  reads: ['schema_version', ...CONTENT],
  *check(policy) {
    const builtIn = builtInPolicy(policy.name);
    if (builtIn && canonicalize({ schema_version: 'agent-policy.v1', ...policy }) !== canonicalize(builtIn)) {
      yield must('name', 'is the name of a built-in policy with different content');
    }
  },
  breach: policy => ({ ...policy, name: 'edit' }),
});

const AP3 = rule({
  id: 'AP3',
  title: 'Agent Postures Known',
  why: 'Proctor cannot enforce a posture that it does not know.',
  asks: [
    'execution_posture, if present, is read_only or workspace_write',
    'network_posture, if present, is deny (only the model API is reachable) or allow',
    'approval_posture, if present, is fail_on_prompt, deny_interactive or bounded_auto_approve',
    'an absent posture is inherited from the extended policy, or is the first of these values',
  ],
  fields: ['execution_posture', 'network_posture', 'approval_posture'],
  breach: policy => ({ ...policy, network_posture: 'some' }),
});

const AP4 = rule({
  id: 'AP4',
  title: 'Agent Paths Relative',
  why: 'The agent works on a copy of the work tree, so a path outside it can be neither allowed nor protected.',
  asks: [
    'allowed_paths, if present, is a list of relative paths that may change; default: the whole work tree',
    'forbidden_paths, if present, is a list of relative paths that must not change, even if allowed_paths covers them',
    ...STEP_ASKS.relativePath,
    'should: a list has no duplicates',
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
  why: 'Proctor can forbid only operations that it can detect.',
  asks: [
    `forbidden_operations, if present, is a list of ${OPERATIONS.join(', ')}`,
    'commit is a new commit; delete is a deleted file; force is a rewritten branch history',
    "configure is a change to the repository's configuration or hooks; push is any transfer to another repository",
    'operations that the extended policy forbids stay forbidden',
    'should: the list has no duplicates',
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
  why: 'A custom policy may choose its limits, but not remove them.',
  asks: [
    'limits, if present, may have timeout_ms, from 1,000 to 86,400,000',
    'limits may have idle_timeout_ms and tool_idle_timeout_ms (silence while a tool runs), from 100 to 86,400,000',
    'limits may have max_turns, from 1 to 10,000, and max_cost_usd, from 0.01 to 10,000',
    'limits may have max_requests, from 1 to 1,000,000, and max_tokens, from 1 to 1,000,000,000,000, counted by the model proxy',
    'limits may have memory_bytes, from 16 MiB to 1 TiB, pids, from 1 to 100,000, and cpu_seconds, from 1 to 86,400',
    'all except max_cost_usd are integers',
  ],
  fields: ['limits'],
  breach: policy => ({ ...policy, limits: { timeout_ms: 10 } }),
});

const AP7 = rule({
  id: 'AP7',
  title: 'Agent Policy Says One Thing',
  why: 'If two keys contradict each other, it is unclear which one is meant.',
  asks: [
    'allowed_paths is absent or empty if execution_posture is read_only, and not empty if it is workspace_write',
    'approval_posture is not bounded_auto_approve if execution_posture is read_only',
    'no path in allowed_paths is equal to or below a path in forbidden_paths, and forbidden_paths does not cover everything',
    'forbidden_operations does not include push if network_posture is allow',
    'idle_timeout_ms is at most tool_idle_timeout_ms, and both are at most timeout_ms',
    'an absent key takes its value from the extended policy, or the strictest value if there is none',
  ],
  fields: [],
  reads: CONTENT,
  // The shape requires a name, but any name works here.
  check: policy => contradictions({ name: '', ...policy }),
  breach: policy => ({ ...policy, allowed_paths: ['docs/generated/api'] }),
});

const AP8 = rule({
  id: 'AP8',
  title: 'Agent Policy Only Tightened',
  why: 'A policy must guarantee at least what the policy it extends guarantees.',
  asks: [
    'extends, if present, is read-only, edit or open',
    'execution_posture, network_posture and approval_posture are not looser than in the extended policy',
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
        yield must(posture, `is looser than "${base[posture]}", the value in the extended policy ${base.name}`);
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
  tells: 'What an agent may do: its permissions, network access, approvals, paths and limits.',
  source: 'Runner Contract (agent steps), sections 3 and 9',
  version: { field: 'schema_version', value: 'agent-policy.v1' },
  shape: agentPolicyShape,
  rules: [AP1, AP2, AP3, AP4, AP5, AP6, AP7, AP8],
  unknownKeys: 'AP1',
  beyond: ['whether an agent and a sandbox on this machine can enforce it; Proctor checks this before a run starts'],
  bytesMax: MIB,
  example,
};
