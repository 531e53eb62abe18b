import * as z from 'zod/mini';
import { type Contract, MIB } from '../contract.ts';
import { must, rulesFor, should } from '../rule.ts';
import { filledText, record, relativePath, wordyText } from '../shape.ts';
import { AG } from './invariants.ts';
import { DIMENSIONS, effectivePolicyShape, loosened, POLICY_ASKS, requestedPolicyShape } from './policy.ts';
import { ASKS, VIOLATION_CLASSES } from './words.ts';

const shape = record({
  schema_version: z.literal('policy-summary.v1'),
  requested: requestedPolicyShape,
  effective: effectivePolicyShape,
  /** What a self-test in the same sandbox found before the agent started. */
  observed: z.array(record({ dimension: z.enum(DIMENSIONS), held: z.boolean(), note: wordyText() })),
  capability_notes: z.array(z.string()),
  applied_overrides: z.array(record({ dimension: z.enum(DIMENSIONS), note: wordyText() })),
  violations: z.array(
    record({
      class: z.enum(VIOLATION_CLASSES),
      message: wordyText(),
      path: z.optional(relativePath()),
      operation: z.optional(filledText()),
      hard: z.boolean(),
      /** What saw it. Without it, a reader knows only the class. */
      source: z.optional(z.enum(['sandbox', 'door', 'git', 'tree', 'agent'])),
    }),
  ),
  enforcement_notes: z.array(z.string()),
});

export type PolicySummary = z.infer<typeof shape>;

/** What went against a policy. */
export type Violation = PolicySummary['violations'][number];

const rule = rulesFor<PolicySummary>();

const version = rule({
  ...AG.AG1,
  asks: ['schema_version is "policy-summary.v1"'],
  fields: ['schema_version'],
  breach: summary => ({ ...summary, schema_version: 'policy-summary.v9' }),
});

const paths = rule({
  ...AG.AG5,
  asks: [
    'allowed_paths and forbidden_paths, requested and effective, hold relative paths',
    'path of a violation, if present, is a relative path',
    ...ASKS.relativePath,
  ],
  fields: [
    'requested.allowed_paths[]',
    'requested.forbidden_paths[]',
    'effective.allowed_paths[]',
    'effective.forbidden_paths[]',
    'violations[].path',
  ],
  breach: ({ effective, ...rest }) => ({ ...rest, effective: { ...effective, forbidden_paths: ['/etc'] } }),
});

const apart = rule({
  ...AG.AG9,
  asks: [
    'requested is an object, in which every key may be null or absent',
    'effective is one with the same keys, of which only policy_reference may be null or absent',
    ...POLICY_ASKS,
    'observed is a list; each entry has dimension, held and note',
    'dimension is one of those keys, policy_reference excepted',
    'note is not blank',
    'held is true',
    'capability_notes is a list of strings',
    'should (must, when strict): no key is unknown',
  ],
  fields: ['requested', 'effective', 'observed', 'capability_notes'],
  *check({ observed }) {
    for (const [index, { held }] of observed.entries()) {
      if (!held) yield must(`observed[${index}].held`, 'is false, so the effective policy claims what was disproved');
    }
  },
  breach: summary => ({ ...summary, effective: 'as requested' }),
});

const tightened = rule({
  ...AG.AG10,
  asks: [
    'applied_overrides is a list; each entry has dimension and note, as in AG9',
    'effective.execution_posture is read_only, unless workspace_write is requested',
    'effective.network_posture is deny, unless allow is requested',
    'effective.approval_posture is fail_on_prompt, unless another is requested',
    'effective.approval_posture is bounded_auto_approve only where that is requested',
    'effective.allowed_paths all equal or lie below one of requested.allowed_paths, where those are given',
    'requested.forbidden_paths all equal or lie below one of effective.forbidden_paths',
    'requested.forbidden_operations all stand in effective.forbidden_operations',
    'paths are compared by their segments: slash and backslash are the same, and . counts for nothing',
  ],
  fields: ['applied_overrides'],
  reads: ['requested', 'effective'],
  check: ({ requested, effective }) => loosened(requested, effective),
  breach: ({ effective, ...rest }) => ({ ...rest, effective: { ...effective, network_posture: 'allow' } }),
});

const classified = rule({
  ...AG.AG11,
  asks: [
    'violations is a list; each entry has class, message and hard, and may have path, operation and source',
    'class is native_policy_block, forbidden_path, forbidden_operation or one that ends in _violation',
    'such a class is interactive_prompt_violation, network_violation or protected_branch_violation',
    'message is not blank',
    'operation, if present, is not empty',
    'operation is there where class is forbidden_operation',
    'hard is true or false',
    'source, if present, says what saw it: sandbox, door, git, tree, or agent, which is only what the agent and its tools say',
    'hard is true where class is interactive_prompt_violation',
    'hard is true where class is native_policy_block or network_violation and effective.approval_posture fail_on_prompt',
    'enforcement_notes is a list of strings',
    'should: path is there where class is forbidden_path',
  ],
  fields: ['violations', 'enforcement_notes'],
  reads: ['effective.approval_posture'],
  *check({ violations, effective: { approval_posture } }) {
    for (const [index, { class: kind, path, operation, hard }] of violations.entries()) {
      const at = `violations[${index}]`;
      if (kind === 'forbidden_operation' && operation === undefined) yield must(`${at}.operation`, 'is missing');
      // Advice only: a path outside the work folder has no relative form.
      if (kind === 'forbidden_path' && path === undefined) yield should(`${at}.path`, 'should say which path it was');
      if (hard) continue;
      if (kind === 'interactive_prompt_violation') yield must(`${at}.hard`, 'must be true: nobody is there to answer');
      const isDenial = kind === 'native_policy_block' || kind === 'network_violation';
      if (isDenial && approval_posture === 'fail_on_prompt') {
        yield must(`${at}.hard`, 'must be true under "fail_on_prompt", where the first denial ends the run');
      }
    }
  },
  breach: ({ violations, ...rest }) => ({
    ...rest,
    violations: violations.map(violation => ({ ...violation, class: 'mischief' })),
  }),
});

const example: PolicySummary = {
  schema_version: 'policy-summary.v1',
  requested: {
    execution_posture: 'workspace_write',
    network_posture: 'deny',
    approval_posture: 'bounded_auto_approve',
    allowed_paths: ['src', 'tests'],
    forbidden_paths: ['src/generated'],
    forbidden_operations: ['push'],
    policy_reference: 'edit',
  },
  effective: {
    execution_posture: 'workspace_write',
    network_posture: 'deny',
    approval_posture: 'deny_interactive',
    allowed_paths: ['src/dates', 'tests'],
    forbidden_paths: ['.git/hooks', 'src/generated'],
    forbidden_operations: ['force', 'push'],
    policy_reference: 'edit',
  },
  observed: [
    { dimension: 'network_posture', held: true, note: 'A connection to an address outside was refused.' },
    { dimension: 'allowed_paths', held: true, note: 'A write outside the allowed paths was refused.' },
  ],
  capability_notes: ['claude_cli has no network control of its own; the sandbox denies it.'],
  applied_overrides: [{ dimension: 'approval_posture', note: 'Tightened on the command line.' }],
  violations: [
    {
      class: 'native_policy_block',
      message: 'The agent was denied a write to src/generated/tables.ts.',
      path: 'src/generated/tables.ts',
      operation: 'write',
      hard: false,
    },
  ],
  enforcement_notes: ['The diff of the work tree holds no forbidden path.'],
};

export const policySummary: Contract = {
  name: 'policy-summary',
  title: 'Policy summary',
  tells: 'What was requested of a step, what was enforced, what was proved, and what went against it.',
  source: 'Runner Contract (agent steps), sections 8 and 9',
  version: { field: 'schema_version', value: 'policy-summary.v1' },
  fileNames: ['policy_summary.json'],
  shape,
  rules: [version, paths, apart, tightened, classified],
  unknownKeys: AG.AG9.id,
  programText: [
    'observed[].note',
    'capability_notes',
    'applied_overrides[].note',
    'violations[].message',
    'violations[].path',
    'violations[].operation',
    'enforcement_notes',
  ],
  beyond: [
    'whether the effective policy was enforced beyond what the self-tests tried',
    'whether a hard violation ended the step, which its manifest says',
    'whether there were violations that nobody saw',
  ],
  bytesMax: 16 * MIB,
  example,
};
