import * as z from 'zod/mini';
import { STEP_ASKS, nameText } from '../agent-step/words.ts';
import { type Contract, MIB } from '../contract.ts';
import { must, rulesFor, versionRule } from '../rule.ts';
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
import { MASKING_ASKS, maskingShape } from '../script-outcome/masking.ts';
import { codeWord, correlationText, count, filledText, record, wordyText } from '../shape.ts';

const shape = record({
  schema_version: z.literal('intent-outcome.v1'),
  run_id: nameText(),
  correlation_id: correlationText(),
  /** How the last command ended. The first failure ends the run. */
  ending: endingShape,
  commands_total: count(),
  /** The index of that command; null if there was none, or if the run was interrupted and it is unknown. */
  command: z.nullable(count()),
  /** Why Proctor kept no output files, as a code; null if it kept them. */
  refused: z.nullable(codeWord()),
  missing_outputs: z.array(filledText()).check(z.maxLength(10_000)),
  checks: z
    .array(
      record({
        check: z.enum(['exit_code', 'file_exists', 'content_matches', 'json_schema', 'sha256']),
        path: z.nullable(filledText()),
        held: z.boolean(),
        /** Why the check failed. */
        message: z.nullable(wordyText()),
      }),
    )
    .check(z.maxLength(10_000)),
  streams: streamsShape,
  enforcement: enforcementShape,
  observed: observedShape,
  limits: furtherLimitsShape,
  usage: usageShape,
  recovered: recoveredShape,
  masking: z.optional(maskingShape),
});

export type IntentOutcome = z.infer<typeof shape>;

const rule = rulesFor<IntentOutcome>();

const rules = [
  versionRule('IX1', 'Outcome Version Known', 'intent-outcome.v1', 'an outcome'),
  rule({
    id: 'IX2',
    title: 'Outcome Identified',
    why: 'The correlation id links public evidence to the details in the internal log.',
    asks: ['run_id is a name', ...STEP_ASKS.name, 'correlation_id is 12 to 32 lower-case letters and digits'],
    fields: ['run_id', 'correlation_id'],
    breach: outcome => ({ ...outcome, correlation_id: 'none' }),
  }),
  rule({
    id: 'IX3',
    title: 'Ending Placed',
    why: 'If there are several commands, the outcome must name the one that failed.',
    asks: [
      'ending states how the last program ended, and commands_total how many commands there are',
      'command is the index of that program; it is null if there are no commands, and may be null if ending is lost',
      'if the program exited with code 0, it was the last command',
    ],
    fields: ['ending', 'commands_total', 'command'],
    *check({ ending, commands_total, command }) {
      const isUnknown = command === null && ending.how === 'lost';
      if (!isUnknown && (command === null) !== (commands_total === 0))
        yield must('command', 'must be null if and only if there are no commands');
      else if (command !== null && command >= commands_total) yield must('command', 'must be less than commands_total');
      else if (command !== null && ending.how === 'exited' && ending.code === 0 && command + 1 !== commands_total)
        yield must('command', 'must be the last command if the program exited with code 0');
    },
    breach: outcome => ({ ...outcome, command: 7 }),
  }),
  rule({
    id: 'IX4',
    title: 'Checks Told',
    why: 'Readers must be able to see why a run was accepted or not.',
    asks: [
      'each check has check, path (or null), held and message; message is null if and only if the check held',
      'refused is null, or a code for why Proctor kept no output files',
      'missing_outputs lists the declared outputs that do not exist',
    ],
    fields: ['checks', 'refused', 'missing_outputs'],
    *check({ checks }) {
      for (const [index, { held, message }] of checks.entries()) {
        if (held !== (message === null))
          yield must(`checks[${index}].message`, 'must be null if and only if the check held');
      }
    },
    breach: outcome => ({ ...outcome, checks: [{ check: 'exit_code', path: null, held: false, message: null }] }),
  }),
  rule({
    id: 'IX5',
    title: 'Bounds And Use Told',
    why: 'The effective limits, the sandbox self-test and the usage are facts about the run, not about its plan.',
    asks: [
      'streams, enforcement, observed, limits and usage have the same form as in a script outcome',
      ...MASKING_ASKS,
    ],
    fields: ['streams', 'enforcement', 'observed', 'limits', 'usage', 'masking'],
    breach: outcome => ({ ...outcome, usage: { ...outcome.usage, cpu_ms: -1 } }),
  }),
  rule({
    id: 'IX6',
    title: 'Recovery Told',
    why: 'A reader must know which facts of an interrupted run Proctor could not observe.',
    asks: RECOVERED_ASKS,
    fields: ['recovered'],
    check: ({ recovered }) => recoveredFindings(recovered),
    breach: outcome => ({
      ...outcome,
      recovered: { at: '2026-04-03T10:20:00.000Z', unknown: ['output', 'output'] },
    }),
  }),
];

export const intentOutcome: Contract = {
  name: 'intent-outcome',
  title: 'Intent outcome',
  tells: 'How the commands of an intent ended, which checks held, and which limits applied.',
  source: 'Proctor run folder',
  version: { field: 'schema_version', value: 'intent-outcome.v1' },
  shape,
  rules,
  unknownKeys: 'IX1',
  programText: ['missing_outputs', 'checks', 'masking'],
  bytesMax: 16 * MIB,
  example: {
    schema_version: 'intent-outcome.v1',
    run_id: 'intent_20260403_101500_4f1c9a7be210',
    correlation_id: '7hq2m4x0c9da',
    ending: { how: 'exited', code: 0 },
    commands_total: 2,
    command: 1,
    refused: null,
    missing_outputs: [],
    checks: [{ check: 'file_exists', path: 'out/c.json', held: true, message: null }],
    streams: [
      {
        name: 'stdout',
        bytes_total: 12,
        sha256: 'sha256:5f1d6c0b8a0e4f3f2f6f0d1b7c9a4e5d3b2a1908f7e6d5c4b3a29180f7e6d5c4',
        bytes_kept: 12,
        truncated: false,
        masked: 0,
      },
    ],
    enforcement: {
      memory: 'cgroup_v2',
      pids: 'cgroup_v2',
      cpu: 'none',
      output: 'tmpfs',
      seccomp: true,
      user: true,
      kill: 'pid_namespace',
    },
    observed: [{ what: 'network', held: true, note: 'A connection to an outside address was refused.' }],
    limits: { pids: 256, idle_timeout_ms: null, open_files: 1_024 },
    usage: { cpu_ms: 140, memory_peak_bytes: 38_797_312, forks_denied: 0 },
  } satisfies IntentOutcome,
};
