import * as z from 'zod/mini';
import type { Claim } from '../claim.ts';
import { type Contract, MIB } from '../contract.ts';
import { type Finding, must, rulesFor, should, NO_UNKNOWN_KEYS } from '../rule.ts';
import { contentHashText, count, instant, matching, record, relativePath } from '../shape.ts';
import { AG, versionOf } from './invariants.ts';
import { startAndEnd } from './times.ts';
import {
  STEP_ASKS,
  nameText,
  OPCODE_OF,
  OPCODES,
  OUTCOMES,
  OUTCOMES_OF,
  PLURAL_ROLES,
  ROLES,
  type Role,
} from './words.ts';

const shape = record({
  schema_version: z.literal('step-manifest.v1'),
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
      /** path, sha256 and size_bytes are absent only for a missing final response. */
      path: z.optional(relativePath()),
      media_type: matching(/^[A-Za-z]+\/[A-Za-z0-9.+-]+(?:; ?[A-Za-z]+=[^;\s]+)*$/, 'a media type such as text/plain'),
      required: z.boolean(),
      important: z.optional(z.boolean()),
      sha256: z.optional(contentHashText()),
      size_bytes: z.optional(count()),
    }),
  ),
});

export type StepManifest = z.infer<typeof shape>;

const rule = rulesFor<StepManifest>();

const version = versionOf('step-manifest.v1');

const termination = rule({
  ...AG.AG4,
  asks: [
    'termination of RUN_AGENT and RUN_VALIDATION is completed, error, killed_timeout, killed_idle or killed_policy',
    'termination of EVALUATE is success, partial, blocked, unsafe, needs_human or error',
    'termination of GATE is gate_approved, gate_rejected, gate_timed_out or error',
    'termination of ROLLBACK is completed or error; that of STOP is completed',
  ],
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
  asks: ['the path of an artifact is a relative path', ...STEP_ASKS.relativePath],
  fields: ['artifacts[].path'],
  breach: ({ artifacts, ...rest }) => ({
    ...rest,
    artifacts: artifacts.map(artifact => ({ ...artifact, path: `/${artifact.path}` })),
  }),
});

const roles = rule({
  ...AG.AG6,
  asks: [
    'the role of an artifact is one that its step may have',
    'policy_summary, workspace_diff and workspace_status may occur in any step',
    'runner_transcript, runner_final_response and runner_metadata occur only in RUN_AGENT',
    'validation_report, validation_stdout and validation_stderr occur only in RUN_VALIDATION',
    'harness_fixture, harness_screenshot and harness_trace occur only in RUN_VALIDATION',
    'planner_decision occurs only in EVALUATE; gate_request and gate_outcome occur only in GATE',
    'role is unique in artifacts unless it starts with harness_',
    'path is unique in artifacts',
  ],
  fields: ['artifacts[].role'],
  reads: ['artifacts[].path', 'opcode'],
  *check({ artifacts, opcode }) {
    const seen = { roles: new Set<Role>(), paths: new Set<string>() };
    for (const [index, { role, path }] of artifacts.entries()) {
      const owner = OPCODE_OF[role] ?? opcode;
      if (owner !== opcode)
        yield must(`artifacts[${index}].role`, `belongs to a ${owner} step, but this step is ${opcode}`);
      if (seen.roles.has(role) && !PLURAL_ROLES.has(role)) {
        yield must(`artifacts[${index}].role`, 'is a duplicate');
      }
      seen.roles.add(role);
      if (path === undefined) continue;
      if (seen.paths.has(path)) yield must(`artifacts[${index}].path`, 'is a duplicate: a file has only one role');
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
  asks: [
    'artifacts is a list; required and, if present, important are booleans',
    'artifacts of RUN_AGENT include runner_transcript, runner_final_response, runner_metadata and policy_summary',
    'required is true for these roles',
    'path is present unless role is runner_final_response and termination is not completed',
    'should: artifacts of RUN_AGENT include workspace_diff',
  ],
  fields: ['artifacts', 'artifacts[].required', 'artifacts[].important'],
  reads: ['opcode', 'termination', 'artifacts[].role', 'artifacts[].path'],
  *check({ artifacts, opcode, termination }) {
    for (const [index, { role, path }] of artifacts.entries()) {
      if (path !== undefined) continue;
      // An empty transcript is still a file, but a missing final response has none.
      if (role !== 'runner_final_response') yield must(`artifacts[${index}].path`, 'is missing');
      else if (termination === 'completed')
        yield must(`artifacts[${index}].path`, 'is missing although the agent completed');
    }
    if (opcode !== 'RUN_AGENT') return;
    for (const role of OF_AN_AGENT) yield* needed(role, artifacts);
    if (!artifacts.some(({ role }) => role === 'workspace_diff')) {
      yield should(
        'artifacts',
        'should include workspace_diff, to check what the agent claims against what it changed',
      );
    }
  },
  breach: ({ artifacts, ...rest }) => ({
    ...rest,
    artifacts: artifacts.filter(({ role }) => role !== 'runner_metadata'),
  }),
});

const evidence = rule({
  ...AG.AG8,
  asks: [
    'evidence_summary has references and notes',
    'references is a list; each entry has role and path, and may have summary, all strings',
    'each reference has the role and path of one artifact',
    'notes is a list of strings',
    'media_type is a media type such as text/plain, with or without parameters',
    'sha256 is sha256: followed by 64 lower-case hexadecimal digits',
    'size_bytes is a non-negative integer',
    'sha256 and size_bytes are present if and only if path is',
  ],
  fields: ['evidence_summary', 'artifacts[].media_type', 'artifacts[].sha256', 'artifacts[].size_bytes'],
  reads: ['artifacts[].role', 'artifacts[].path'],
  *check({ evidence_summary: { references }, artifacts }) {
    for (const [index, artifact] of artifacts.entries()) {
      for (const key of ['sha256', 'size_bytes'] as const) {
        const isThere = artifact[key] !== undefined;
        if (isThere === (artifact.path !== undefined)) continue;
        yield must(`artifacts[${index}].${key}`, isThere ? 'must be absent without path' : 'is missing');
      }
    }
    const known = new Set(artifacts.flatMap(({ role, path }) => (path === undefined ? [] : [`${role} ${path}`])));
    for (const [index, { role, path }] of references.entries()) {
      if (!known.has(`${role} ${path}`)) {
        yield must(`evidence_summary.references[${index}]`, 'does not match the role and path of any artifact');
      }
    }
  },
  breach: ({ artifacts, ...rest }) => ({
    ...rest,
    artifacts: artifacts.map(artifact => ({ ...artifact, sha256: 'md5:9e107d9d372bb6826bd81d3542a419d6' })),
  }),
});

const identified = rule({
  ...AG.AG16,
  asks: [
    'step_id is a name',
    ...STEP_ASKS.name,
    'opcode is RUN_AGENT, RUN_VALIDATION, EVALUATE, GATE, ROLLBACK or STOP',
    NO_UNKNOWN_KEYS,
  ],
  fields: ['step_id', 'opcode'],
  breach: manifest => ({ ...manifest, step_id: '..' }),
});

/** Required for every agent step, however it ended. */
const OF_AN_AGENT = ['runner_transcript', 'runner_final_response', 'runner_metadata', 'policy_summary'] as const;

/** The role must exist and be marked as required. */
function* needed(role: Role, artifacts: StepManifest['artifacts']): Generator<Finding> {
  const index = artifacts.findIndex(artifact => artifact.role === role);
  if (index < 0) yield must('artifacts', `must include ${role}`);
  else if (!artifacts[index]?.required) yield must(`artifacts[${index}].required`, `must be true for ${role}`);
}

const example: StepManifest = {
  schema_version: 'step-manifest.v1',
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
  tells: 'What one step did, how it ended, and which file contains the evidence for each role.',
  source: 'Runner Contract (agent steps), sections 5, 7 and 8',
  version: { field: 'schema_version', value: 'step-manifest.v1' },
  shape,
  rules: [version, termination, paths, roles, required, evidence, startAndEnd, identified],
  unknownKeys: AG.AG16.id,
  programText: ['evidence_summary.references[].summary', 'evidence_summary.notes'],
  /** Claims are relative to the run folder; the document is in evidence/steps/<step>/. */
  claimsFrom: 3,
  listsItsFolder: true,
  *claims({ artifacts }: StepManifest): Generator<Claim> {
    for (const [index, { path, sha256, size_bytes }] of artifacts.entries()) {
      if (path === undefined || sha256 === undefined) continue;
      yield { at: `artifacts[${index}]`, file: path, sha256, ...(size_bytes !== undefined && { bytes: size_bytes }) };
    }
  },
  beyond: [
    'whether the files contain what their roles promise',
    'whether the step did more than its evidence shows',
    'whether termination matches the runner metadata and the result',
  ],
  bytesMax: 16 * MIB,
  example,
};
