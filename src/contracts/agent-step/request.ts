import * as z from 'zod/mini';
import { checkName } from '../check-result/shape.ts';
import { type Contract, MIB } from '../contract.ts';
import { must, rulesFor, NO_UNKNOWN_KEYS } from '../rule.ts';
import { filledText, record, relativePath, wordyText } from '../shape.ts';
import { ATTEMPT_ASKS, attemptFindings, attemptShape } from './attempt.ts';
import { AG, versionOf } from './invariants.ts';
import { POLICY_ASKS, requestedPolicyShape } from './policy.ts';
import { STEP_ASKS, FAMILIES } from './words.ts';

const shape = record({
  schema_version: z.literal('agent-request.v1'),
  agent_family: z.enum(FAMILIES),
  rendered_task_text: wordyText(),
  working_directory: relativePath(),
  prompt_reference: z.nullable(filledText()),
  requested_policy: requestedPolicyShape,
  /** The names of the checks that run in the tree that the agent leaves. Absent if there are none. */
  checks: z.optional(z.array(checkName()).check(z.minLength(1), z.maxLength(20))),
  /** Which of several attempts at this task the run is. Absent for a single run. */
  attempt: z.optional(attemptShape),
});

export type AgentRequest = z.infer<typeof shape>;

const rule = rulesFor<AgentRequest>();

const version = versionOf('agent-request.v1');

const family = rule({
  ...AG.AG2,
  asks: ['agent_family is claude_cli or codex_cli'],
  fields: ['agent_family'],
  breach: request => ({ ...request, agent_family: 'claude' }),
});

const complete = rule({
  ...AG.AG3,
  asks: [
    'rendered_task_text is not blank',
    'prompt_reference is null or a non-empty string',
    'checks, if present, lists 1 to 20 names of checks: lower-case letters, digits and dashes',
    ...ATTEMPT_ASKS,
    NO_UNKNOWN_KEYS,
  ],
  fields: ['rendered_task_text', 'prompt_reference', 'checks', 'attempt'],
  *check({ attempt }) {
    yield* attemptFindings(attempt);
  },
  breach: request => ({ ...request, rendered_task_text: ' \n' }),
});

const paths = rule({
  ...AG.AG5,
  asks: [
    'working_directory is a relative path',
    'allowed_paths and forbidden_paths of requested_policy, if present, contain relative paths',
    ...STEP_ASKS.relativePath,
  ],
  fields: ['working_directory', 'requested_policy.allowed_paths[]', 'requested_policy.forbidden_paths[]'],
  breach: request => ({ ...request, working_directory: '/srv/project' }),
});

const policy = rule({
  ...AG.AG9,
  asks: [
    'requested_policy is an object in which every key may be null or absent',
    ...POLICY_ASKS,
    'requested_policy has no other keys',
  ],
  fields: ['requested_policy'],
  // A violation even when not strict: a misspelled limit, or an option of a single agent, would not be enforced.
  *check({ requested_policy }) {
    if (Object.keys(requested_policy).some(key => !Object.hasOwn(requestedPolicyShape.shape, key))) {
      yield must('requested_policy', 'has a key that is not a policy dimension, so it would not be enforced');
    }
  },
  breach: request => ({ ...request, requested_policy: 'read-only' }),
});

const example: AgentRequest = {
  schema_version: 'agent-request.v1',
  agent_family: 'claude_cli',
  rendered_task_text: 'Make the date parser accept ISO week dates such as 2026-W14-5.\nAdd a test for each form.\n',
  working_directory: 'workspace',
  prompt_reference: 'prompts/implement@3',
  requested_policy: {
    execution_posture: 'workspace_write',
    network_posture: 'deny',
    approval_posture: 'deny_interactive',
    allowed_paths: ['src', 'tests'],
    forbidden_paths: ['src/generated'],
    forbidden_operations: ['push', 'force'],
    policy_reference: 'edit',
  },
};

export const agentRequest: Contract = {
  name: 'agent-request',
  title: 'Agent request',
  tells: "An agent's task, working directory and policy.",
  source: 'Runner Contract (agent steps), section 3',
  version: { field: 'schema_version', value: 'agent-request.v1' },
  shape,
  rules: [version, family, complete, paths, policy],
  unknownKeys: AG.AG3.id,
  programText: ['rendered_task_text'],
  beyond: [
    'whether the task text is fully rendered, without template placeholders',
    'whether an adapter and a sandbox on this machine can enforce the requested policy',
  ],
  bytesMax: 16 * MIB,
  example,
};
