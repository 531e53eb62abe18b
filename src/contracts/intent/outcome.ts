import * as z from 'zod/mini';
import { ASKS, nameText } from '../agent-step/words.ts';
import { type Contract, MIB } from '../contract.ts';
import { must, rulesFor } from '../rule.ts';
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
import { MASKING_ASKS, maskingShape } from '../script-outcome/masking.ts';
import { correlationText, count, filledText, matching, record, wordyText } from '../shape.ts';

const shape = record({
  schema_version: z.literal('intent-outcome.v1'),
  run_id: nameText(),
  correlation_id: correlationText(),
  /** How the commands ended; the first that did not end well is the last that ran. */
  ending: endingShape,
  commands_total: count(),
  /** Which of them ended so, counted from 0; null where there were none, or where the run was interrupted and it is not known. */
  command: z.nullable(count()),
  /** Why no file of the run was taken, as a word; null if they were. */
  refused: z.nullable(matching(/^[a-z][a-z0-9_]{0,63}$/, 'a word of lower-case letters, digits and underscores')),
  missing_outputs: z.array(filledText()).check(z.maxLength(10_000)),
  checks: z
    .array(
      record({
        check: z.enum(['exit_code', 'file_exists', 'content_matches', 'json_schema', 'sha256']),
        path: z.nullable(filledText()),
        held: z.boolean(),
        /** Why not. */
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
  rule({
    id: 'IX1',
    title: 'Outcome Version Known',
    why: 'A reader must know by which rules an outcome was written before it believes a word of it.',
    asks: ['schema_version is "intent-outcome.v1"', 'should (must, when strict): no key is unknown'],
    fields: ['schema_version'],
    breach: outcome => ({ ...outcome, schema_version: 'intent-outcome.v9' }),
  }),
  rule({
    id: 'IX2',
    title: 'Outcome Identified',
    why: 'Whoever asks about a run names it by an id under which the internal log tells more than a stranger may see.',
    asks: ['run_id is a name', ...ASKS.name, 'correlation_id is 12 to 32 lower-case letters and digits'],
    fields: ['run_id', 'correlation_id'],
    breach: outcome => ({ ...outcome, correlation_id: 'none' }),
  }),
  rule({
    id: 'IX3',
    title: 'Ending Placed',
    why: 'Of several commands, the one that failed must be named.',
    asks: [
      'ending says how the program ended that ran last, commands_total how many there were',
      'command is null where there were none, and else one of them; where ending is lost, it may be null',
      'where the program ended well, it was the last',
    ],
    fields: ['ending', 'commands_total', 'command'],
    *check({ ending, commands_total, command }) {
      const isUnknown = command === null && ending.how === 'lost';
      if (!isUnknown && (command === null) !== (commands_total === 0))
        yield must('command', 'must be null exactly where there were no commands');
      else if (command !== null && command >= commands_total) yield must('command', 'is not one of the commands');
      else if (command !== null && ending.how === 'exited' && ending.code === 0 && command + 1 !== commands_total)
        yield must('command', 'must be the last where the program ended well');
    },
    breach: outcome => ({ ...outcome, command: 7 }),
  }),
  rule({
    id: 'IX4',
    title: 'Checks Told',
    why: 'A run is accepted for reasons, and each of them can be looked up.',
    asks: [
      'each check has check, path or null, held, and message, which is null exactly where it held',
      'refused, if not null, says in a word why no file was taken; missing_outputs are those that were announced and are not there',
    ],
    fields: ['checks', 'refused', 'missing_outputs'],
    *check({ checks }) {
      for (const [index, { held, message }] of checks.entries()) {
        if (held !== (message === null)) yield must(`checks[${index}].message`, 'must be null exactly where it held');
      }
    },
    breach: outcome => ({ ...outcome, checks: [{ check: 'exit_code', path: null, held: false, message: null }] }),
  }),
  rule({
    id: 'IX5',
    title: 'Bounds And Use Told',
    why: 'What bounded the run, what was tried inside, and what it used are facts of the run, not of its plan.',
    asks: [
      'streams, enforcement, observed, limits and usage have the forms that they have for scripts',
      ...MASKING_ASKS,
    ],
    fields: ['streams', 'enforcement', 'observed', 'limits', 'usage', 'masking'],
    breach: outcome => ({ ...outcome, usage: { ...outcome.usage, cpu_ms: -1 } }),
  }),
  rule({
    id: 'IX6',
    title: 'Recovery Told',
    why: 'A reader must know what Proctor did not see of a run that was interrupted.',
    asks: RECOVERED_ASKS,
    fields: ['recovered'],
    check: ({ recovered }) => doubtRecovered(recovered),
    breach: outcome => ({
      ...outcome,
      recovered: { at: '2026-04-03T10:20:00.000Z', unknown: ['output', 'output'] },
    }),
  }),
];

export const intentOutcome: Contract = {
  name: 'intent-outcome',
  title: 'Intent outcome',
  tells: 'What came of the commands of an intent: how they ended, which checks held, and what bounded them.',
  source: 'Run folder of Proctor',
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
