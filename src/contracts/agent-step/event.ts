import * as z from 'zod/mini';
import type { Claim } from '../claim.ts';
import { type Contract, MIB } from '../contract.ts';
import { rulesFor, should, NO_UNKNOWN_KEYS } from '../rule.ts';
import { filledText, instant, record, relativePath } from '../shape.ts';
import { AG, versionOf } from './invariants.ts';
import { STEP_ASKS, FAMILIES, LIFECYCLE_STATES, nameText, OPCODES, ROLES } from './words.ts';

const shape = record({
  schema_version: z.literal('event.v1'),
  timestamp: instant(),
  run_id: nameText(),
  step_id: nameText(),
  event_type: filledText(),
  next_step_id: z.optional(nameText()),
  opcode: z.optional(z.enum(OPCODES)),
  runner_family: z.optional(z.enum(FAMILIES)),
  lifecycle_state: z.optional(z.enum(LIFECYCLE_STATES)),
  artifact_role: z.optional(z.enum(ROLES)),
  artifact_path: z.optional(relativePath()),
});

type Event = z.infer<typeof shape>;

/** Keys that apply only to some event types. */
type Detail = 'opcode' | 'artifact_role' | 'artifact_path' | 'runner_family' | 'next_step_id' | 'lifecycle_state';

/** The known event types, and the keys that each should have. */
const EVENT_TYPES: ReadonlyMap<string, readonly Detail[]> = new Map([
  ['step_started', ['opcode']],
  ['step_completed', []],
  ['step_failed', []],
  ['step_waiting', []],
  ['step_blocked', []],
  ['artifact_recorded', ['artifact_role', 'artifact_path']],
  ['gate_requested', []],
  ['gate_resolved', []],
  ['rollback_completed', []],
  ['runner_started', ['runner_family']],
  ['runner_completed', ['runner_family']],
  ['route_selected', ['next_step_id']],
  ['status_updated', ['lifecycle_state']],
]);

const rule = rulesFor<Event>();

const version = versionOf('event.v1');

const family = rule({
  ...AG.AG2,
  asks: ['runner_family, if present, is claude_cli or codex_cli'],
  fields: ['runner_family'],
  breach: event => ({ ...event, runner_family: 'codex' }),
});

const paths = rule({
  ...AG.AG5,
  asks: ['artifact_path, if present, is a relative path', ...STEP_ASKS.relativePath],
  fields: ['artifact_path'],
  breach: event => ({ ...event, artifact_path: '~/transcript.ndjson' }),
});

const roles = rule({
  ...AG.AG6,
  asks: ['artifact_role, if present, is one of the 15 roles of a step manifest, such as runner_transcript'],
  fields: ['artifact_role'],
  breach: event => ({ ...event, artifact_role: 'native_stream' }),
});

const times = rule({
  ...AG.AG12,
  asks: ['timestamp is an instant', ...STEP_ASKS.instant],
  fields: ['timestamp'],
  breach: event => ({ ...event, timestamp: '2026-02-30T10:21:43.007Z' }),
});

const complete = rule({
  ...AG.AG14,
  asks: [
    'run_id, step_id and, if present, next_step_id are names',
    ...STEP_ASKS.name,
    'event_type is not empty',
    'opcode, if present, is RUN_AGENT, RUN_VALIDATION, EVALUATE, GATE, ROLLBACK or STOP',
    'lifecycle_state, if present, is running, waiting, blocked, failed or completed',
    'should: event_type is one of the 13 known types (for steps, artifacts, gates, rollbacks, runners, routes and status)',
    'should: step_started has opcode, and artifact_recorded has artifact_role and artifact_path',
    'should: runner_started and runner_completed have runner_family',
    'should: route_selected has next_step_id, and status_updated has lifecycle_state',
    NO_UNKNOWN_KEYS,
  ],
  fields: ['run_id', 'step_id', 'event_type', 'next_step_id', 'opcode', 'lifecycle_state'],
  reads: ['runner_family', 'artifact_role', 'artifact_path'],
  *check(event) {
    const keys = EVENT_TYPES.get(event.event_type);
    // Only advice: readers ignore unknown types, so a new type does not break them.
    if (!keys) yield should('event_type', 'is an unknown type');
    for (const key of keys ?? []) {
      if (event[key] === undefined) yield should(key, 'should be present for this event_type');
    }
  },
  breach: event => ({ ...event, step_id: null }),
});

const example: Event = {
  schema_version: 'event.v1',
  timestamp: '2026-04-03T10:21:43.007Z',
  run_id: 'agent_20260403_101500_4f1c9a7be210',
  step_id: 'implement',
  event_type: 'artifact_recorded',
  next_step_id: 'review',
  opcode: 'RUN_AGENT',
  runner_family: 'claude_cli',
  lifecycle_state: 'running',
  artifact_role: 'runner_transcript',
  artifact_path: 'evidence/steps/implement/transcript.ndjson',
};

export const stepEvent: Contract = {
  name: 'event',
  title: 'Event',
  tells: 'One event of a run; a line of events.ndjson.',
  source: 'Runner Contract (agent steps), section 9, stored as lines in the run folder',
  version: { field: 'schema_version', value: 'event.v1' },
  shape,
  rules: [version, family, paths, roles, times, complete],
  unknownKeys: AG.AG14.id,
  /** Claims are relative to the run folder; the document is in evidence/. */
  claimsFrom: 1,
  *claims({ artifact_path }: Event): Generator<Claim> {
    if (artifact_path !== undefined) yield { at: 'artifact_path', file: artifact_path };
  },
  beyond: ['whether lines before or after it are missing', 'whether the event happened at the stated time'],
  bytesMax: MIB,
  example,
};
