import * as z from 'zod/mini';
import type { Claim } from '../claim.ts';
import { type Contract, MIB } from '../contract.ts';
import { type Finding, must, rulesFor, should } from '../rule.ts';
import { contentHashText, count, instant, matching, record, relativePath } from '../shape.ts';
import { AG } from './invariants.ts';
import { liesBefore } from './times.ts';
import { nameText, OPCODE_OF, OPCODES, OUTCOMES, OUTCOMES_OF, PLURAL_ROLES, ROLES, type Role } from './words.ts';

const shape = record({
  schema_version: z.literal('step-manifest.v0'),
  step_id: nameText(),
  opcode: z.enum(OPCODES),
  started_at: instant(),
  ended_at: instant(),
  termination: z.enum(OUTCOMES),
  evidence_summary: record({
    references: z.array(record({ role: z.string(), path: z.string(), summary: z.optional(z.string()) })),
    notes: z.array(z.string()),
  }),
  artifacts: z.array(
    record({
      role: z.enum(ROLES),
      path: relativePath(),
      media_type: matching(/^[a-z]+\/[a-z0-9.+-]+(?:; ?[a-z]+=[^;\s]+)*$/i, 'a media type such as text/plain'),
      required: z.boolean(),
      important: z.optional(z.boolean()),
      sha256: contentHashText(),
      size_bytes: count(),
    }),
  ),
});

type StepManifest = z.infer<typeof shape>;

const rule = rulesFor<StepManifest>();

const version = rule({
  ...AG.AG1,
  fields: ['schema_version'],
  breach: manifest => ({ ...manifest, schema_version: 'step-manifest.v9' }),
});

const termination = rule({
  ...AG.AG4,
  fields: ['termination'],
  reads: ['opcode'],
  *check({ termination, opcode }) {
    const words = OUTCOMES_OF[opcode];
    if (words.includes(termination)) return;
    yield must('termination', `must be one of ${words.map(word => `"${word}"`).join(', ')} for ${opcode}`);
  },
  breach: manifest => ({ ...manifest, termination: 'success' }),
});

const paths = rule({
  ...AG.AG5,
  fields: ['artifacts[].path'],
  breach: ({ artifacts, ...rest }) => ({
    ...rest,
    artifacts: artifacts.map(artifact => ({ ...artifact, path: `/${artifact.path}` })),
  }),
});

const roles = rule({
  ...AG.AG6,
  fields: ['artifacts[].role'],
  reads: ['artifacts[].path', 'opcode'],
  *check({ artifacts, opcode }) {
    const seen = { roles: new Set<Role>(), paths: new Set<string>() };
    for (const [index, { role, path }] of artifacts.entries()) {
      const owner = OPCODE_OF[role] ?? opcode;
      if (owner !== opcode) yield must(`artifacts[${index}].role`, `belongs to a ${owner} step, and this is ${opcode}`);
      if (seen.roles.has(role) && !PLURAL_ROLES.has(role)) {
        yield must(`artifacts[${index}].role`, 'stands here twice, but a step has only one');
      }
      if (seen.paths.has(path)) yield must(`artifacts[${index}].path`, 'has a role already, and a file has only one');
      seen.roles.add(role);
      seen.paths.add(path);
    }
  },
  breach: ({ artifacts, ...rest }) => ({
    ...rest,
    artifacts: [...artifacts, { ...artifacts[0], path: 'evidence/steps/implement/native.jsonl' }],
  }),
});

const required = rule({
  ...AG.AG7,
  fields: ['artifacts', 'artifacts[].required', 'artifacts[].important'],
  reads: ['opcode', 'termination'],
  *check({ artifacts, opcode, termination }) {
    if (opcode !== 'RUN_AGENT') return;
    yield* needed('runner_transcript', artifacts);
    if (termination === 'completed') yield* needed('runner_final_response', artifacts);
    yield* needed('runner_metadata', artifacts);
    yield* needed('policy_summary', artifacts);
    if (!artifacts.some(({ role }) => role === 'workspace_diff')) {
      yield should('artifacts', 'should hold a workspace_diff: what an agent says is checked against what it changed');
    }
  },
  breach: ({ artifacts, ...rest }) => ({
    ...rest,
    artifacts: artifacts.filter(({ role }) => role !== 'runner_metadata'),
  }),
});

const evidence = rule({
  ...AG.AG8,
  fields: ['evidence_summary', 'artifacts[].media_type', 'artifacts[].sha256', 'artifacts[].size_bytes'],
  reads: ['artifacts[].role', 'artifacts[].path'],
  *check({ evidence_summary: { references }, artifacts }) {
    const known = new Set(artifacts.map(({ role, path }) => `${role} ${path}`));
    for (const [index, { role, path }] of references.entries()) {
      if (!known.has(`${role} ${path}`)) {
        yield must(`evidence_summary.references[${index}]`, 'names a role and a path that no artifact has');
      }
    }
  },
  breach: ({ artifacts, ...rest }) => ({
    ...rest,
    artifacts: artifacts.map(artifact => ({ ...artifact, sha256: 'md5:9e107d9d372bb6826bd81d3542a419d6' })),
  }),
});

const times = rule({
  ...AG.AG12,
  fields: ['started_at', 'ended_at'],
  *check({ started_at, ended_at }) {
    if (liesBefore(ended_at, started_at)) yield must('ended_at', 'lies before started_at');
  },
  breach: manifest => ({ ...manifest, ended_at: '2026-04-03T10:14:59.999Z' }),
});

const identified = rule({
  ...AG.AG16,
  fields: ['step_id', 'opcode'],
  breach: manifest => ({ ...manifest, step_id: '..' }),
});

/** The role must be there, and must not be marked as one that the step could do without. */
function* needed(role: Role, artifacts: StepManifest['artifacts']): Generator<Finding> {
  const index = artifacts.findIndex(artifact => artifact.role === role);
  if (index < 0) yield must('artifacts', `must hold a ${role}`);
  else if (!artifacts[index]?.required) yield must(`artifacts[${index}].required`, `must be true for ${role}`);
}

/** An agent that completed, with all that a reader may ask for. */
const example: StepManifest = {
  schema_version: 'step-manifest.v0',
  step_id: 'implement',
  opcode: 'RUN_AGENT',
  started_at: '2026-04-03T10:15:00.000Z',
  ended_at: '2026-04-03T10:21:43.007Z',
  termination: 'completed',
  evidence_summary: {
    references: [
      {
        role: 'runner_transcript',
        path: 'evidence/steps/implement/transcript.ndjson',
        summary: '41 lines, 12 tool calls, 1 denied.',
      },
      { role: 'workspace_diff', path: 'workspace.diff', summary: '2 files changed.' },
    ],
    notes: ['policy: workspace_write, network deny, deny_interactive; 1 violation, none hard'],
  },
  artifacts: [
    {
      role: 'runner_transcript',
      path: 'evidence/steps/implement/transcript.ndjson',
      media_type: 'application/x-ndjson',
      required: true,
      important: true,
      sha256: 'sha256:5f1d6c0b8a0e4f3f2f6f0d1b7c9a4e5d3b2a1908f7e6d5c4b3a29180f7e6d5c4',
      size_bytes: 48_213,
    },
    {
      role: 'runner_final_response',
      path: 'evidence/steps/implement/final_response.txt',
      media_type: 'text/plain; charset=utf-8',
      required: true,
      important: true,
      sha256: 'sha256:0c9b8a7f6e5d4c3b2a190817f6e5d4c3b2a190817f6e5d4c3b2a190817f6e5d4',
      size_bytes: 312,
    },
    {
      role: 'runner_metadata',
      path: 'evidence/steps/implement/runner_metadata.json',
      media_type: 'application/json',
      required: true,
      sha256: 'sha256:77aa66bb55cc44dd33ee22ff1100998877665544332211ffeeddccbbaa009988',
      size_bytes: 547,
    },
    {
      role: 'policy_summary',
      path: 'evidence/steps/implement/policy_summary.json',
      media_type: 'application/json',
      required: true,
      sha256: 'sha256:1234c0ffee5678deca0de9abcdef01234c0ffee5678deca0de9abcdef0123456',
      size_bytes: 1_408,
    },
    {
      role: 'workspace_diff',
      path: 'workspace.diff',
      media_type: 'text/x-diff',
      required: false,
      important: true,
      sha256: 'sha256:e3b1c442a8fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b8aa',
      size_bytes: 2_970,
    },
  ],
};

export const stepManifest: Contract = {
  name: 'step-manifest',
  title: 'Step manifest',
  tells: 'What one step did, how it ended, and which file holds the evidence of each role.',
  source: 'Runner Contract (agent steps), sections 5, 7 and 8',
  version: { field: 'schema_version', value: 'step-manifest.v0' },
  shape,
  rules: [version, termination, paths, roles, required, evidence, times, identified],
  unknownKeys: AG.AG16.id,
  programText: ['evidence_summary.references[].summary', 'evidence_summary.notes'],
  /** From evidence/steps/<step>/ to the folder of the run. */
  claimsFrom: 3,
  listsItsFolder: true,
  *claims({ artifacts }: StepManifest): Generator<Claim> {
    for (const [index, { path, sha256, size_bytes }] of artifacts.entries()) {
      yield { at: `artifacts[${index}]`, file: path, sha256, bytes: size_bytes };
    }
  },
  beyond: [
    'whether the files hold what their roles promise',
    'whether the step did more than its evidence shows',
    'whether termination is the one that the runner metadata and the result state',
  ],
  bytesMax: 16 * MIB,
  example,
};
