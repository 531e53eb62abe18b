import * as z from 'zod/mini';
import { type Contract, MIB } from '../contract.ts';
import { must, rulesFor, versionRule } from '../rule.ts';
import { MASKING_ASKS, maskingShape } from '../script-outcome/masking.ts';
import {
  endingShape,
  enforcementShape,
  furtherLimitsShape,
  observedShape,
  recoveredShape,
  streamsShape,
  usageShape,
} from '../script-outcome/shape.ts';
import { recoveredFindings, RECOVERED_ASKS } from '../script-outcome/recovered.ts';
import { contentHashText, correlationText, count, filledText, record, wordyText } from '../shape.ts';
import { leftRunningFindings, LEFT_RUNNING_ASKS, leftRunningShape } from './left-running.ts';
import {
  projectContextFindings,
  PROJECT_CONTEXT_ASKS,
  PROJECT_CONTEXT_EXAMPLE,
  projectContextShape,
} from './project-context.ts';
import { outcomeExample } from './outcome-example.ts';
import { REASONS } from './reading.ts';
import { reasonFindings, REASON_ASKS } from './reason.ts';
import { modelAccessFindings, MODEL_ACCESS_ASKS, modelAccessShape } from './model-access.ts';
import { BASE_ASKS, BASE_EXAMPLE, baseFindings, baseShape } from './base.ts';
import { MOUNT_EXAMPLE, MOUNTS_ASKS, mountsFindings, mountsShape } from './mounts.ts';
import { STEP_ASKS, FAMILIES, nameText, TERMINATIONS } from './words.ts';

export const clocksShape = record({
  timeout_ms: count(),
  idle_timeout_ms: count(),
  tool_idle_timeout_ms: count(),
  grace_ms: count(),
});

export const turnLimitShape = record({ max: count().check(z.gte(1)), enforced_by: z.enum(['agent', 'proctor']) });

const shape = record({
  schema_version: z.literal('agent-outcome.v1'),
  run_id: nameText(),
  correlation_id: correlationText(),
  termination: z.enum(TERMINATIONS),
  reason: z.enum(REASONS),
  /** What happened, as a sentence; null on success. */
  detail: z.nullable(wordyText()),
  /** The HTTP status of the model API, if it is the reason. */
  api_status: z.nullable(count().check(z.gte(100), z.lte(599))),
  ending: endingShape,
  agent: record({
    family: z.enum(FAMILIES),
    version: filledText(),
    sha256: contentHashText(),
    /** This version was never tested: it is newer than the tested ones, or the caller allowed it explicitly. */
    untested: z.boolean(),
    /** The newest tested version, if this one is untested. */
    newest_tried: z.optional(filledText()),
    session: z.nullable(filledText()),
    model: z.nullable(filledText()),
  }),
  /** The usage that the agent reports. */
  reported: record({
    turns: z.nullable(count()),
    input_tokens: z.nullable(count()),
    cached_input_tokens: z.nullable(count()),
    output_tokens: z.nullable(count()),
    cost_usd: z.nullable(z.number().check(z.gte(0))),
  }),
  /** Lines of the native stream: all, of unknown type, not JSON, and too long to read. */
  lines: record({ total: count(), unknown: count(), broken: count(), oversized: count() }),
  events: count(),
  denials: count(),
  model_access: modelAccessShape,
  project_context: z.optional(projectContextShape),
  mounts: z.optional(mountsShape),
  base: z.optional(baseShape),
  streams: streamsShape,
  enforcement: enforcementShape,
  observed: observedShape,
  limits: furtherLimitsShape,
  clocks: clocksShape,
  /** The turn limit, and what enforces it. */
  turn_limit: z.optional(turnLimitShape),
  usage: usageShape,
  /** Processes that could not be ended; null if they cannot be counted. */
  survivors: z.nullable(count()),
  left_running: z.optional(leftRunningShape),
  /** Attempts inside the sandbox to reach a network that is not available; null if the kernel did not report them. */
  network_attempts: z.optional(z.nullable(count())),
  recovered: recoveredShape,
  masking: z.optional(maskingShape),
});

export type AgentOutcome = z.infer<typeof shape>;

const rule = rulesFor<AgentOutcome>();

const rules = [
  versionRule('AO1', 'Outcome Version Known', 'agent-outcome.v1', 'an outcome'),
  rule({
    id: 'AO2',
    title: 'Outcome Identified',
    why: 'The correlation id links public evidence to the details in the internal log.',
    asks: ['run_id is a name', ...STEP_ASKS.name, 'correlation_id is 12 to 32 lower-case letters and digits'],
    fields: ['run_id', 'correlation_id'],
    breach: outcome => ({ ...outcome, correlation_id: 'none' }),
  }),
  rule({
    id: 'AO3',
    title: 'Reason Fits Termination',
    why: 'The termination says how a step ended and the reason says why, so they must agree.',
    asks: [
      'termination is completed, error, killed_timeout, killed_idle or killed_policy',
      ...REASON_ASKS,
      'detail is null if and only if reason is ok',
      'api_status is null or from 100 to 599, and null unless reason is api_error or auth_missing',
    ],
    fields: ['termination', 'reason', 'detail', 'api_status'],
    *check({ termination, reason, detail, api_status }) {
      yield* reasonFindings({ termination, reason });
      if ((detail === null) !== (reason === 'ok')) yield must('detail', 'must be null if and only if reason is "ok"');
      if (api_status !== null && reason !== 'api_error' && reason !== 'auth_missing')
        yield must('api_status', 'must be null unless reason is "api_error" or "auth_missing"');
    },
    breach: outcome => ({ ...outcome, reason: 'stalled' }),
  }),
  rule({
    id: 'AO4',
    title: 'Agent Known',
    why: 'A reader must know which agent produced a result.',
    asks: [
      'agent has family, version, sha256 of its program, untested, and session and model (each may be null)',
      'family is claude_cli or codex_cli',
      'newest_tried, if present, is not empty, and untested is true',
    ],
    fields: ['agent'],
    *check({ agent: { untested, newest_tried } }) {
      if (newest_tried !== undefined && !untested)
        yield must('agent.newest_tried', 'must be absent if this version was tested');
    },
    breach: ({ agent, ...rest }) => ({ ...rest, agent: { ...agent, family: 'gemini' } }),
  }),
  rule({
    id: 'AO5',
    title: 'Stream Counted',
    why: 'A reader of a transcript must know how much of the agent’s output is not in it.',
    asks: [
      'reported has turns, input_tokens, cached_input_tokens, output_tokens and cost_usd, each null or at least 0',
      'lines has total, unknown, broken and oversized; the last three add up to at most total',
      'events is the number of transcript lines; denials is the number of denied tool calls',
    ],
    fields: ['reported', 'lines', 'events', 'denials'],
    *check({ lines: { total, unknown, broken, oversized } }) {
      if (unknown + broken + oversized > total)
        yield must('lines.total', 'is less than the sum of unknown, broken and oversized');
    },
    breach: outcome => ({ ...outcome, lines: { total: 1, unknown: 1, broken: 1, oversized: 0 } }),
  }),
  rule({
    id: 'AO6',
    title: 'Model Access Told',
    why: 'A replayed answer did not come from a model in this run, and a reader must know that.',
    asks: MODEL_ACCESS_ASKS,
    fields: ['model_access'],
    *check({ model_access }) {
      yield* modelAccessFindings(model_access);
    },
    breach: ({ model_access, ...rest }) => ({ ...rest, model_access: { ...model_access, difference: 'request 3' } }),
  }),
  rule({
    id: 'AO7',
    title: 'Bounds And Use Told',
    why: 'The effective limits, the sandbox self-test and the usage are facts about the run, not about its plan.',
    asks: [
      'ending, streams, enforcement, observed, limits and usage have the same form as for scripts',
      'clocks has timeout_ms, idle_timeout_ms, tool_idle_timeout_ms and grace_ms',
      'turn_limit, if present, has max (at least 1) and enforced_by (agent or proctor)',
      'survivors is the number of processes that could not be ended, or null; it is above 0 if reason is orphan_left',
      'network_attempts, if present, is the number of attempts to reach a network that is not available, or null',
      ...MASKING_ASKS,
    ],
    fields: [
      'ending',
      'streams',
      'enforcement',
      'observed',
      'limits',
      'clocks',
      'turn_limit',
      'usage',
      'survivors',
      'network_attempts',
      'masking',
    ],
    reads: ['reason'],
    *check({ survivors, reason }) {
      if (reason === 'orphan_left' && !survivors) yield must('survivors', 'must be above 0 if reason is "orphan_left"');
    },
    breach: outcome => ({ ...outcome, usage: { ...outcome.usage, cpu_ms: -1 } }),
  }),
  rule({
    id: 'AO8',
    title: 'Recovery Told',
    why: 'An interrupted run cannot have completed, and a reader must know what Proctor did not observe.',
    asks: [...RECOVERED_ASKS, 'if recovered is present, termination is not completed'],
    fields: ['recovered'],
    reads: ['termination'],
    *check({ recovered, termination }) {
      yield* recoveredFindings(recovered);
      if (recovered && termination === 'completed')
        yield must('recovered', 'must be absent if termination is "completed"');
    },
    breach: outcome => ({ ...outcome, recovered: { at: '2026-04-03T10:20:00.000Z', unknown: [] } }),
  }),
  rule({
    id: 'AO9',
    title: 'Left Running Told',
    why: 'An agent can claim to be done while its programs still run. A reader must know what Proctor stopped.',
    asks: [...LEFT_RUNNING_ASKS],
    fields: ['left_running'],
    *check({ left_running }) {
      if (left_running) yield* leftRunningFindings(left_running);
    },
    breach: outcome => ({ ...outcome, left_running: { processes: 0, programs: ['sleep'] } }),
  }),
  rule({
    id: 'AO10',
    title: 'Project Context Told',
    why: 'Instructions in a repository can influence an agent as much as its task does.',
    asks: PROJECT_CONTEXT_ASKS,
    fields: ['project_context'],
    check: ({ project_context }) => projectContextFindings(project_context),
    breach: outcome => ({ ...outcome, project_context: { ...PROJECT_CONTEXT_EXAMPLE, state: 'left_out' } }),
  }),
  rule({
    id: 'AO11',
    title: 'Mounts Told',
    why: 'Dependencies that are not part of the commit can change a result, so a reader must be able to identify them.',
    asks: MOUNTS_ASKS,
    fields: ['mounts'],
    check: ({ mounts }) => mountsFindings(mounts),
    breach: outcome => ({ ...outcome, mounts: [MOUNT_EXAMPLE, MOUNT_EXAMPLE] }),
  }),
  rule({
    id: 'AO12',
    title: 'Base Told',
    why: 'A reader must be able to identify everything that was there before the agent started.',
    asks: BASE_ASKS,
    fields: ['base'],
    check: ({ base }) => baseFindings(base),
    breach: outcome => ({ ...outcome, base: { ...BASE_EXAMPLE, kind: 'repository' } }),
  }),
];

export const agentOutcome: Contract = {
  name: 'agent-outcome',
  title: 'Agent outcome',
  tells: 'How and why an agent ended, which agent it was, what it used, and which limits applied.',
  source: 'Proctor run folder',
  version: { field: 'schema_version', value: 'agent-outcome.v1' },
  shape,
  rules,
  unknownKeys: 'AO1',
  programText: [
    'detail',
    'agent.version',
    'agent.session',
    'agent.model',
    'model_access.difference',
    'left_running',
    'mounts[].path',
    'base.name',
    'base.setup.command',
    'masking',
  ],
  bytesMax: 16 * MIB,
  example: outcomeExample,
};
