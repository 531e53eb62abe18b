import * as z from 'zod/mini';
import { type Contract, MIB } from '../contract.ts';
import { must, rulesFor } from '../rule.ts';
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
import { doubtRecovered, RECOVERED_ASKS } from '../script-outcome/recovered.ts';
import { contentHashText, correlationText, count, filledText, record, wordyText } from '../shape.ts';
import { doubtLeftRunning, LEFT_RUNNING_ASKS, leftRunningShape } from './left-running.ts';
import {
  doubtProjectContext,
  PROJECT_CONTEXT_ASKS,
  PROJECT_CONTEXT_EXAMPLE,
  projectContextShape,
} from './project-context.ts';
import { example } from './outcome-example.ts';
import { REASONS } from './reading.ts';
import { doubtReason, REASON_ASKS } from './reason.ts';
import { doubtModelAccess, MODEL_ACCESS_ASKS, modelAccessShape } from './model-access.ts';
import { ASKS, FAMILIES, nameText, TERMINATIONS } from './words.ts';

const shape = record({
  schema_version: z.literal('agent-outcome.v1'),
  run_id: nameText(),
  correlation_id: correlationText(),
  termination: z.enum(TERMINATIONS),
  reason: z.enum(REASONS),
  /** What happened, as a sentence; null where all went well. */
  detail: z.nullable(wordyText()),
  /** What the model API answered, where that is the reason. */
  api_status: z.nullable(count().check(z.gte(100), z.lte(599))),
  ending: endingShape,
  agent: record({
    family: z.enum(FAMILIES),
    version: filledText(),
    sha256: contentHashText(),
    /** Nobody has tried the flags of this version: it is newer than all that were tried, or the caller wanted it all the same. */
    untested: z.boolean(),
    /** The newest version that was tried, where this one was not. */
    newest_tried: z.optional(filledText()),
    session: z.nullable(filledText()),
    model: z.nullable(filledText()),
  }),
  /** What the agent says it has used. */
  reported: record({
    turns: z.nullable(count()),
    input_tokens: z.nullable(count()),
    cached_input_tokens: z.nullable(count()),
    output_tokens: z.nullable(count()),
    cost_usd: z.nullable(z.number().check(z.gte(0))),
  }),
  /** The native stream: its lines, those of types that nobody knows, those that are no JSON, and those too long to read. */
  lines: record({ total: count(), unknown: count(), broken: count(), oversized: count() }),
  events: count(),
  denials: count(),
  /** How the agent reached its model. */
  model_access: modelAccessShape,
  project_context: z.optional(projectContextShape),
  streams: streamsShape,
  enforcement: enforcementShape,
  observed: observedShape,
  limits: furtherLimitsShape,
  /** The clocks of agents. */
  clocks: record({ timeout_ms: count(), idle_timeout_ms: count(), tool_idle_timeout_ms: count(), grace_ms: count() }),
  /** How many turns it may have, and who counts them; absent where nobody asked. */
  turn_limit: z.optional(record({ max: count().check(z.gte(1)), enforced_by: z.enum(['agent', 'proctor']) })),
  usage: usageShape,
  /** Processes that could not be ended; null where nobody can count them. */
  survivors: z.nullable(count()),
  left_running: z.optional(leftRunningShape),
  /** How often something in the sandbox reached for a network that is not there; null where the kernel did not tell. */
  network_attempts: z.optional(z.nullable(count())),
  recovered: recoveredShape,
  masking: z.optional(maskingShape),
});

export type AgentOutcome = z.infer<typeof shape>;

const rule = rulesFor<AgentOutcome>();

const rules = [
  rule({
    id: 'AO1',
    title: 'Outcome Version Known',
    why: 'A reader must know by which rules an outcome was written before it believes a word of it.',
    asks: ['schema_version is "agent-outcome.v1"', 'should (must, when strict): no key is unknown'],
    fields: ['schema_version'],
    breach: outcome => ({ ...outcome, schema_version: 'agent-outcome.v9' }),
  }),
  rule({
    id: 'AO2',
    title: 'Outcome Identified',
    why: 'Whoever asks about a run names it by an id under which the internal log tells more than a stranger may see.',
    asks: ['run_id is a name', ...ASKS.name, 'correlation_id is 12 to 32 lower-case letters and digits'],
    fields: ['run_id', 'correlation_id'],
    breach: outcome => ({ ...outcome, correlation_id: 'none' }),
  }),
  rule({
    id: 'AO3',
    title: 'Reason Fits Termination',
    why: 'Five words say how a step ended; the reason says why, and must not say the contrary.',
    asks: [
      'termination is completed, error, killed_timeout, killed_idle or killed_policy',
      ...REASON_ASKS,
      'detail is null exactly where reason is ok',
      'api_status is null or from 100 to 599, and null unless reason is api_error or auth_missing',
    ],
    fields: ['termination', 'reason', 'detail', 'api_status'],
    *check({ termination, reason, detail, api_status }) {
      yield* doubtReason({ termination, reason });
      if ((detail === null) !== (reason === 'ok')) yield must('detail', 'must be null exactly where the reason is ok');
      if (api_status !== null && reason !== 'api_error' && reason !== 'auth_missing')
        yield must('api_status', 'must be null where the model API is not the reason');
    },
    breach: outcome => ({ ...outcome, reason: 'stalled' }),
  }),
  rule({
    id: 'AO4',
    title: 'Agent Known',
    why: 'What an agent did is worth nothing without knowing which one it was.',
    asks: [
      'agent has family, version, sha256 of its program, untested, and session and model or null',
      'family is claude_cli or codex_cli',
      'newest_tried, if present, is not empty, and untested is true',
    ],
    fields: ['agent'],
    *check({ agent: { untested, newest_tried } }) {
      if (newest_tried !== undefined && !untested)
        yield must('agent.newest_tried', 'must be absent where it was tried');
    },
    breach: ({ agent, ...rest }) => ({ ...rest, agent: { ...agent, family: 'gemini' } }),
  }),
  rule({
    id: 'AO5',
    title: 'Stream Counted',
    why: 'Whoever reads a transcript must know how much of what the agent said is not in it.',
    asks: [
      'reported has turns, input_tokens, cached_input_tokens, output_tokens and cost_usd, each null or from 0 up',
      'lines has total, unknown, broken and oversized; the last three are together not more than the first',
      'events is how many lines the transcript has, denials how many tool calls were denied',
    ],
    fields: ['reported', 'lines', 'events', 'denials'],
    *check({ lines: { total, unknown, broken, oversized } }) {
      if (unknown + broken + oversized > total) yield must('lines.total', 'is less than what is not understood of it');
    },
    breach: outcome => ({ ...outcome, lines: { total: 1, unknown: 1, broken: 1, oversized: 0 } }),
  }),
  rule({
    id: 'AO6',
    title: 'Model Access Told',
    why: 'An answer that comes from a recording is not one that a model gave today.',
    asks: MODEL_ACCESS_ASKS,
    fields: ['model_access'],
    *check({ model_access }) {
      yield* doubtModelAccess(model_access);
    },
    breach: ({ model_access, ...rest }) => ({ ...rest, model_access: { ...model_access, difference: 'request 3' } }),
  }),
  rule({
    id: 'AO7',
    title: 'Bounds And Use Told',
    why: 'What bounded the run, what was tried inside, and what it used are facts of the run, not of its plan.',
    asks: [
      'ending, streams, enforcement, observed, limits and usage have the forms that they have for scripts',
      'clocks has timeout_ms, idle_timeout_ms, tool_idle_timeout_ms and grace_ms',
      'turn_limit, if present, has max, from 1 up, and enforced_by: agent or proctor',
      'survivors is how many processes could not be ended, or null; reason is orphan_left only where there are some',
      'network_attempts, if present, is how often something in the sandbox reached for a network that is not there, or null',
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
      if (reason === 'orphan_left' && !survivors) yield must('survivors', 'must be counted where some are the reason');
    },
    breach: outcome => ({ ...outcome, usage: { ...outcome.usage, cpu_ms: -1 } }),
  }),
  rule({
    id: 'AO8',
    title: 'Recovery Told',
    why: 'A run that was interrupted cannot have completed, and a reader must know what Proctor did not see of it.',
    asks: [...RECOVERED_ASKS, 'where recovered is there, termination is not completed'],
    fields: ['recovered'],
    reads: ['termination'],
    *check({ recovered, termination }) {
      yield* doubtRecovered(recovered);
      if (recovered && termination === 'completed')
        yield must('recovered', 'must not stand where termination is "completed"');
    },
    breach: outcome => ({ ...outcome, recovered: { at: '2026-04-03T10:20:00.000Z', unknown: [] } }),
  }),
  rule({
    id: 'AO9',
    title: 'Left Running Told',
    why: 'An agent that says it is done may leave programs running. A reader must know what Proctor ended.',
    asks: [...LEFT_RUNNING_ASKS],
    fields: ['left_running'],
    *check({ left_running }) {
      if (left_running) yield* doubtLeftRunning(left_running);
    },
    breach: outcome => ({ ...outcome, left_running: { processes: 0, programs: ['sleep'] } }),
  }),
  rule({
    id: 'AO10',
    title: 'Project Context Told',
    why: 'Instructions in a repository steer an agent as much as its task does.',
    asks: PROJECT_CONTEXT_ASKS,
    fields: ['project_context'],
    check: ({ project_context }) => doubtProjectContext(project_context),
    breach: outcome => ({ ...outcome, project_context: { ...PROJECT_CONTEXT_EXAMPLE, state: 'left_out' } }),
  }),
];

export const agentOutcome: Contract = {
  name: 'agent-outcome',
  title: 'Agent outcome',
  tells: 'What came of an agent: how it ended and why, which one it was, what it used, and what bounded it.',
  source: 'Run folder of Proctor',
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
    'masking',
  ],
  bytesMax: 16 * MIB,
  example,
};
