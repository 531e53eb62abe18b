import * as z from 'zod/mini';
import { type Contract, MIB } from '../contract.ts';
import { must, rulesFor, should, NO_UNKNOWN_KEYS } from '../rule.ts';
import { filledText, record, relativePath, wordyText } from '../shape.ts';
import { AG, versionOf } from './invariants.ts';
import { DIMENSIONS, effectivePolicyShape, loosened, POLICY_ASKS, requestedPolicyShape } from './policy.ts';
import { STEP_ASKS, VIOLATION_CLASSES } from './words.ts';

const shape = record({
  schema_version: z.literal('policy-summary.v1'),
  requested: requestedPolicyShape,
  effective: effectivePolicyShape,
  /** Results of a self-test in the same sandbox, before the agent started. */
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
      /** What detected it. */
      source: z.optional(z.enum(['sandbox', 'door', 'git', 'tree', 'agent'])),
    }),
  ),
  enforcement_notes: z.array(z.string()),
});

export type PolicySummary = z.infer<typeof shape>;

export type PolicyViolation = PolicySummary['violations'][number];

const rule = rulesFor<PolicySummary>();

const version = versionOf('policy-summary.v1');

const paths = rule({
  ...AG.AG5,
  asks: [
    'allowed_paths and forbidden_paths, requested and effective, contain relative paths',
    'the path of a violation, if present, is a relative path',
    ...STEP_ASKS.relativePath,
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
    'requested is an object in which every key may be null or absent',
    'effective has the same keys; only policy_reference may be null or absent',
    ...POLICY_ASKS,
    'observed is a list; each entry has dimension, held and note',
    'dimension is one of those keys except policy_reference',
    'note is not blank',
    'held is true',
    'capability_notes is a list of strings',
    NO_UNKNOWN_KEYS,
  ],
  fields: ['requested', 'effective', 'observed', 'capability_notes'],
  *check({ observed }) {
    for (const [index, { held }] of observed.entries()) {
      if (!held) yield must(`observed[${index}].held`, 'is false, so the self-test disproved the effective policy');
    }
  },
  breach: summary => ({ ...summary, effective: 'as requested' }),
});

const tightened = rule({
  ...AG.AG10,
  asks: [
    'applied_overrides is a list; each entry has dimension and note, as in AG9',
    'effective.execution_posture is read_only unless workspace_write is requested',
    'effective.network_posture is deny unless allow is requested',
    'effective.approval_posture is fail_on_prompt unless another one is requested',
    'effective.approval_posture is bounded_auto_approve only if that is requested',
    'each path in effective.allowed_paths is equal to or below one in requested.allowed_paths, if present',
    'each path in requested.forbidden_paths is equal to or below one in effective.forbidden_paths',
    'effective.forbidden_operations includes all of requested.forbidden_operations',
    'paths are compared by segments: slash and backslash are equal, and . is ignored',
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
    'class is native_policy_block, forbidden_path, forbidden_operation, interactive_prompt_violation, network_violation or protected_branch_violation',
    'message is not blank',
    'operation, if present, is not empty',
    'operation is present if class is forbidden_operation',
    'hard is a boolean',
    'source, if present, is what detected it: sandbox, door (the model proxy), git, tree, or agent (reported only by the agent or its tools)',
    'hard is true if class is interactive_prompt_violation',
    'hard is true if class is native_policy_block or network_violation, and effective.approval_posture is fail_on_prompt',
    'enforcement_notes is a list of strings',
    'should: path is present if class is forbidden_path',
  ],
  fields: ['violations', 'enforcement_notes'],
  reads: ['effective.approval_posture'],
  *check({ violations, effective: { approval_posture } }) {
    for (const [index, { class: kind, path, operation, hard }] of violations.entries()) {
      const at = `violations[${index}]`;
      if (kind === 'forbidden_operation' && operation === undefined) yield must(`${at}.operation`, 'is missing');
      // Advice only: a path outside the work tree has no relative form.
      if (kind === 'forbidden_path' && path === undefined) yield should(`${at}.path`, 'should name the forbidden path');
      if (hard) continue;
      if (kind === 'interactive_prompt_violation')
        yield must(`${at}.hard`, 'must be true, because runs are unattended');
      const isDenial = kind === 'native_policy_block' || kind === 'network_violation';
      if (isDenial && approval_posture === 'fail_on_prompt') {
        yield must(`${at}.hard`, 'must be true under "fail_on_prompt", because the first denial ends the run');
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
    { dimension: 'network_posture', held: true, note: 'A connection to an outside address was refused.' },
    { dimension: 'allowed_paths', held: true, note: 'A write outside the allowed paths was refused.' },
  ],
  capability_notes: ['claude_cli has no network control; the sandbox blocks the network.'],
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
  enforcement_notes: ['The diff of the work tree contains no forbidden path.'],
};

export const policySummary: Contract = {
  name: 'policy-summary',
  title: 'Policy summary',
  tells: "A step's requested, effective and observed policies, and its violations.",
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
    'whether the effective policy was enforced beyond what the self-tests covered',
    'whether a hard violation ended the step; see its manifest',
    'whether violations went undetected',
  ],
  bytesMax: 16 * MIB,
  example,
};
