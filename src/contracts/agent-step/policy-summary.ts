import * as z from 'zod/mini';
import { type Contract, MIB } from '../contract.ts';
import { must, rulesFor, should } from '../rule.ts';
import { filledText, record, relativePath, wordyText } from '../shape.ts';
import { AG } from './invariants.ts';
import { DIMENSIONS, effectivePolicyShape, loosened, requestedPolicyShape } from './policy.ts';

const shape = record({
  schema_version: z.literal('policy-summary.v0'),
  requested: requestedPolicyShape,
  effective: effectivePolicyShape,
  /** What a self-test in the same sandbox found before the agent started. */
  observed: z.array(record({ dimension: z.enum(DIMENSIONS), held: z.boolean(), note: wordyText() })),
  capability_notes: z.array(z.string()),
  applied_overrides: z.array(record({ dimension: z.enum(DIMENSIONS), note: wordyText() })),
  violations: z.array(
    record({
      class: z.enum([
        'native_policy_block',
        'forbidden_path',
        'forbidden_operation',
        'interactive_prompt_violation',
        'network_violation',
        'protected_branch_violation',
      ]),
      message: wordyText(),
      path: z.optional(relativePath()),
      operation: z.optional(filledText()),
      hard: z.boolean(),
    }),
  ),
  enforcement_notes: z.array(z.string()),
});

type PolicySummary = z.infer<typeof shape>;

const rule = rulesFor<PolicySummary>();

const version = rule({
  ...AG.AG1,
  fields: ['schema_version'],
  breach: summary => ({ ...summary, schema_version: 'policy-summary.v9' }),
});

const paths = rule({
  ...AG.AG5,
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
  fields: ['applied_overrides'],
  reads: ['requested', 'effective'],
  check: ({ requested, effective }) => loosened(requested, effective),
  breach: ({ effective, ...rest }) => ({ ...rest, effective: { ...effective, network_posture: 'allow' } }),
});

const classified = rule({
  ...AG.AG11,
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
      if (kind === 'native_policy_block' && approval_posture === 'fail_on_prompt') {
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
  schema_version: 'policy-summary.v0',
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
  version: { field: 'schema_version', value: 'policy-summary.v0' },
  places: ['policy_summary.json'],
  shape,
  rules: [version, paths, apart, tightened, classified],
  unknownKeys: AG.AG9.id,
  programText: [
    'observed[].note',
    'capability_notes',
    'applied_overrides[].note',
    'violations[].message',
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
