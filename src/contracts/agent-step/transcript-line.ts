import * as z from 'zod/mini';
import { type Contract, MIB } from '../contract.ts';
import { type Finding, must, rulesFor, NO_UNKNOWN_KEYS } from '../rule.ts';
import { between, count, filledText, record } from '../shape.ts';
import { type AgentEvent, TEXT_BYTES_MAX } from './reading.ts';

const clippedText = () => z.optional(record({ text: z.string(), bytes_total: z.optional(count()) }));

const shape = record({
  schema_version: z.literal('transcript-line.v1'),
  seq: z.int().check(z.gte(1)),
  at_ms: count(),
  native_line: z.int().check(z.gte(1)),
  kind: z.enum([
    'message',
    'thinking',
    'tool_call',
    'tool_result',
    'file_change',
    'denial',
    'retry',
    'usage',
    'final',
    'note',
  ] satisfies AgentEvent['kind'][]),
  body: z.optional(z.nullable(record({ text: z.string(), bytes_total: z.optional(count()) }))),
  input: clippedText(),
  command: clippedText(),
  output: clippedText(),
  call: z.optional(z.nullable(filledText())),
  tool: z.optional(filledText()),
  path: z.optional(filledText()),
  ok: z.optional(z.boolean()),
  exit_code: z.optional(z.nullable(z.int())),
  change: z.optional(z.enum(['add', 'update', 'delete'])),
  role: z.optional(z.enum(['assistant', 'user'])),
  reason: z.optional(z.string()),
  attempt: z.optional(z.nullable(count())),
  status: z.optional(z.nullable(z.int().check(z.gte(100), z.lte(599)))),
  message: z.optional(z.string()),
  level: z.optional(z.enum(['info', 'warning', 'error'])),
  text: z.optional(z.string()),
  usage: z.optional(
    record({
      turns: z.nullable(count()),
      input_tokens: z.nullable(count()),
      cached_input_tokens: z.nullable(count()),
      output_tokens: z.nullable(count()),
      cost_usd: z.nullable(between(0, Number.MAX_VALUE)),
    }),
  ),
});

type Line = z.infer<typeof shape>;

/** The keys of a kind: required, optional, and those that may be null. */
interface Keys {
  readonly must: readonly Detail[];
  readonly may?: readonly Detail[];
  readonly nullable?: readonly Detail[];
}

type Detail = Exclude<keyof Line, 'schema_version' | 'seq' | 'at_ms' | 'native_line' | 'kind'>;

const KEYS: Readonly<Record<Line['kind'], Keys>> = {
  message: { must: ['role', 'body'] },
  thinking: { must: ['body'] },
  tool_call: { must: ['call', 'tool', 'input'], may: ['command', 'path'] },
  tool_result: { must: ['call', 'ok', 'output', 'exit_code'], nullable: ['exit_code'] },
  file_change: { must: ['path', 'change'] },
  denial: { must: ['call', 'tool', 'reason'], nullable: ['call'] },
  retry: { must: ['attempt', 'status', 'message'], nullable: ['attempt', 'status'] },
  usage: { must: ['usage'] },
  final: { must: ['ok', 'body'], nullable: ['body'] },
  note: { must: ['level', 'text'] },
};

const CLIPPED = ['body', 'input', 'command', 'output'] as const;
const NAMES = ['call', 'tool', 'path'] as const;
const SENTENCES = ['reason', 'message', 'text'] as const;
const DETAILS = [
  ...CLIPPED,
  ...NAMES,
  ...SENTENCES,
  ...(['ok', 'exit_code', 'change', 'role', 'attempt', 'status', 'level', 'usage'] as const),
] satisfies Detail[];

const rule = rulesFor<Line>();

const version = rule({
  id: 'TR1',
  title: 'Format Known',
  why: 'The version tells a reader which rules apply to a line.',
  asks: ['schema_version is "transcript-line.v1"'],
  fields: ['schema_version'],
  breach: line => ({ ...line, schema_version: 'transcript-line.v9' }),
});

const place = rule({
  id: 'TR2',
  title: 'Place Told',
  why: 'A reader can compare a line with the native line it came from, and see when that line arrived.',
  asks: [
    'seq and native_line are positive integers',
    'at_ms, the milliseconds since the agent started, is a non-negative integer',
  ],
  fields: ['seq', 'at_ms', 'native_line'],
  breach: line => ({ ...line, seq: 0 }),
});

const kind = rule({
  id: 'TR3',
  title: 'Kind Complete',
  why: 'A line that lacks keys of its kind, or has keys of another kind, is ambiguous.',
  asks: [
    'kind is message, thinking, tool_call, tool_result, file_change, denial, retry, usage, final or note',
    ...Object.entries(KEYS).map(([kind, keys]) => `${kind} has ${sentenceOf(keys)}`),
    'a line has no key of another kind',
    NO_UNKNOWN_KEYS,
  ],
  fields: ['kind'],
  reads: DETAILS,
  *check(line) {
    const { must: needed, may = [], nullable = [] } = KEYS[line.kind];
    for (const key of DETAILS) {
      if (line[key] === undefined) {
        if (needed.includes(key)) yield must(key, 'is missing for this kind');
      } else if (!needed.includes(key) && !may.includes(key)) yield must(key, 'belongs to another kind');
      else if (line[key] === null && !nullable.includes(key)) yield must(key, 'must not be null for this kind');
    }
  },
  breach: line => ({ ...line, kind: 'thinking' }),
});

const texts = rule({
  id: 'TR4',
  title: 'Texts Bounded',
  why: 'Agent output has no size limit; a transcript stays readable if it keeps the start and the length of each text.',
  asks: [
    'body, input, command and output have text of at most 64 KiB',
    'bytes_total is present if text was truncated, and is the original number of bytes',
  ],
  fields: CLIPPED,
  *check(line) {
    for (const key of CLIPPED) {
      const clipped = line[key];
      if (!clipped) continue;
      const bytes = Buffer.byteLength(clipped.text);
      if (bytes > TEXT_BYTES_MAX) yield must(`${key}.text`, `must be at most ${TEXT_BYTES_MAX} bytes`);
      if (clipped.bytes_total !== undefined && clipped.bytes_total <= bytes) {
        yield must(`${key}.bytes_total`, 'must exceed the number of bytes in text');
      }
    }
  },
  breach: line => ({ ...line, input: { text: '{}', bytes_total: 2 } }),
});

const calls = rule({
  id: 'TR5',
  title: 'Calls Named',
  why: 'A result is meaningful only together with its call.',
  asks: [
    'call, tool and path are not empty and at most 4 KiB; call is null for a denial without a call',
    'ok is a boolean; exit_code is an integer, or null if not reported',
    'change is add, update or delete',
  ],
  fields: [...NAMES, 'ok', 'exit_code', 'change'],
  check: line => overlong(line, NAMES),
  breach: line => ({ ...line, call: '' }),
});

const words = rule({
  id: 'TR6',
  title: 'Words Bounded',
  why: 'A short reason is enough here; the native stream keeps the full text.',
  asks: [
    'role is assistant or user, and level is info, warning or error',
    'reason, message and text are strings of at most 4 KiB',
    'attempt is a non-negative integer or null; status is an HTTP status from 100 to 599, or null',
  ],
  fields: [...SENTENCES, 'role', 'level', 'attempt', 'status'],
  check: line => overlong(line, SENTENCES),
  breach: line => ({ ...line, reason: 7 }),
});

const usage = rule({
  id: 'TR7',
  title: 'Usage Told',
  why: 'A value that the agent does not report is null; 0 would mean that it used nothing.',
  asks: [
    'usage has turns, input_tokens, cached_input_tokens and output_tokens, each a non-negative integer or null',
    'usage has cost_usd, a non-negative number or null',
  ],
  fields: ['usage'],
  breach: line => ({ ...line, usage: { turns: -1 } }),
});

function* overlong<Key extends string>(
  line: { readonly [Name in Key]?: string | null | undefined },
  keys: readonly Key[],
): Generator<Finding> {
  for (const key of keys) {
    if (Buffer.byteLength(line[key] ?? '') > WORD_BYTES_MAX) yield must(key, `must be at most ${WORD_BYTES_MAX} bytes`);
  }
}

const WORD_BYTES_MAX = 4096;

/** Describes the keys of a kind, for the rule's text. */
function sentenceOf({ must: needed, may = [] }: Keys): string {
  return may.length === 0 ? listed(needed) : `${listed(needed)}, and may have ${listed(may)}`;
}

function listed(keys: readonly string[]): string {
  return keys.join(', ').replace(/, (?=\w+$)/, ' and ');
}

const example: Line = {
  schema_version: 'transcript-line.v1',
  seq: 12,
  at_ms: 4_180,
  native_line: 9,
  kind: 'tool_call',
  call: 'toolu_01',
  tool: 'Bash',
  input: { text: '{"command":"npm test"}' },
  command: { text: 'npm test' },
};

export const transcriptLine: Contract = {
  name: 'transcript-line',
  title: 'Transcript Line',
  tells: 'One action or message of an agent, in a form common to all agents; a line of transcript.ndjson.',
  source: 'Runner Contract (agent steps), section 6, stored as lines in the run folder',
  version: { field: 'schema_version', value: 'transcript-line.v1' },
  shape,
  rules: [version, place, kind, texts, calls, words, usage],
  unknownKeys: 'TR3',
  /** These keys contain the agent's words, which may name any file. */
  programText: [...CLIPPED, ...NAMES, ...SENTENCES],
  beyond: ['whether lines before or after it are missing', 'whether the agent did what it said'],
  bytesMax: MIB,
  example,
};
