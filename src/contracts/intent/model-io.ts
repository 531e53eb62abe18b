import * as z from 'zod/mini';
import { bytesHash } from '../../base/hash.ts';
import { type Contract, MIB } from '../contract.ts';
import { must, NO_UNKNOWN_KEYS, rulesFor } from '../rule.ts';
import { contentHashText, count, filledText, instant, matching, record } from '../shape.ts';

const interaction = record({
  i: count(),
  prompt_hash: contentHashText(),
  response_hash: contentHashText(),
  response_content: z.string(),
  tokens_input: z.optional(count()),
  tokens_output: z.optional(count()),
  latency_ms: z.optional(count()),
});

const shape = record({
  model_io_schema_version: matching(/^1\.\d+\.\d+$/, 'a version 1.x.y'),
  adapter_id: filledText(),
  model_id: filledText(),
  mode: z.enum(['record', 'replay']),
  interactions: z.array(interaction).check(z.maxLength(10_000)),
  created_at_utc: z.optional(instant()),
  ended_at_utc: z.optional(instant()),
  stats: z.optional(
    record({
      total_interactions: count(),
      total_tokens_input: count(),
      total_tokens_output: count(),
      total_latency_ms: count(),
    }),
  ),
});

export type ModelIo = z.infer<typeof shape>;

const rule = rulesFor<ModelIo>();

const rules = [
  rule({
    id: 'MI1',
    title: 'Version Known',
    why: 'The version tells a reader which rules apply to a recording.',
    asks: ['model_io_schema_version is a version 1.x.y'],
    fields: ['model_io_schema_version'],
    breach: session => ({ ...session, model_io_schema_version: '2.0.0' }),
  }),
  rule({
    id: 'MI2',
    title: 'Model Named',
    why: 'A response is meaningful only with the model and the adapter that produced it.',
    asks: ['adapter_id and model_id are not empty'],
    fields: ['adapter_id', 'model_id'],
    breach: session => ({ ...session, model_id: '' }),
  }),
  rule({
    id: 'MI3',
    title: 'Mode Known',
    why: 'Recorded responses came from a model; replayed ones came from a file.',
    asks: ['mode is record or replay'],
    fields: ['mode'],
    breach: session => ({ ...session, mode: 'live' }),
  }),
  rule({
    id: 'MI4',
    title: 'Interactions Bounded',
    why: 'Readers need a limit on the length of the list.',
    asks: ['interactions is a list of at most 10,000; each has i, prompt_hash, response_hash and response_content'],
    fields: ['interactions'],
    breach: session => ({ ...session, interactions: 'none' }),
  }),
  rule({
    id: 'MI5',
    title: 'Interactions Counted',
    why: 'A gap in the sequence means that a response was removed.',
    asks: ['i counts from 0 without gaps, in list order'],
    fields: ['interactions[].i'],
    reads: ['interactions'],
    *check({ interactions }) {
      const wrong = interactions.findIndex(({ i }, index) => i !== index);
      if (wrong >= 0) yield must(`interactions[${wrong}].i`, `must be ${wrong}`);
    },
    breach: session => withEach(session, one => ({ ...one, i: one.i + 1 })),
  }),
  rule({
    id: 'MI6',
    title: 'Prompt Hashed',
    why: 'Replay finds a response by the hash of its prompt.',
    asks: ['prompt_hash is sha256: followed by 64 lower-case hexadecimal digits, over the bytes of the prompt'],
    fields: ['interactions[].prompt_hash'],
    breach: session => withEach(session, one => ({ ...one, prompt_hash: 'abc' })),
  }),
  rule({
    id: 'MI7',
    title: 'Response Hash True',
    why: 'The hash reveals a response that was changed later.',
    asks: ['response_hash is the SHA-256 over the bytes of response_content'],
    fields: ['interactions[].response_hash'],
    reads: ['interactions'],
    *check({ interactions }) {
      for (const [index, { response_content, response_hash }] of interactions.entries()) {
        if (bytesHash(response_content) !== response_hash)
          yield must(`interactions[${index}].response_hash`, 'does not match the content');
      }
    },
    breach: session => withEach(session, one => ({ ...one, response_content: `${one.response_content} ` })),
  }),
  rule({
    id: 'MI11',
    title: 'Responses Bounded',
    why: 'Replay loads the whole recording into memory.',
    asks: ['each response_content has at most 1,000,000 bytes, and all of them at most 100,000,000'],
    fields: ['interactions[].response_content'],
    reads: ['interactions'],
    *check({ interactions }) {
      let total = 0;
      for (const [index, { response_content }] of interactions.entries()) {
        const bytes = Buffer.byteLength(response_content);
        total += bytes;
        if (bytes > RESPONSE_BYTES_MAX)
          yield must(`interactions[${index}].response_content`, 'has more than 1,000,000 bytes');
      }
      if (total > TOTAL_BYTES_MAX) yield must('interactions', 'have more than 100,000,000 bytes in total');
    },
    breach: session =>
      withEach(session, one => {
        const response_content = 'x'.repeat(RESPONSE_BYTES_MAX + 1);
        return { ...one, response_content, response_hash: bytesHash(response_content) };
      }),
  }),
  rule({
    id: 'MI12',
    title: 'Measures Apart',
    why: 'Measurements say nothing about the content, so the content hash leaves them out.',
    asks: [
      'created_at_utc and ended_at_utc, if present, are instants; stats, if present, has totals',
      'tokens_input, tokens_output and latency_ms of an interaction, if present, are non-negative integers',
      'the content hash leaves out created_at_utc, ended_at_utc and stats',
      NO_UNKNOWN_KEYS,
    ],
    fields: [
      'created_at_utc',
      'ended_at_utc',
      'stats',
      'interactions[].tokens_input',
      'interactions[].tokens_output',
      'interactions[].latency_ms',
    ],
    breach: session => ({ ...session, created_at_utc: 'today' }),
  }),
];

type Interaction = ModelIo['interactions'][number];

function withEach(session: ModelIo, change: (one: Interaction) => Interaction): ModelIo {
  return { ...session, interactions: session.interactions.map(change) };
}

const RESPONSE_BYTES_MAX = 1_000_000;
const TOTAL_BYTES_MAX = 100_000_000;

const answer = '{"commands":[{"argv":["node","-e","0"]}]}';

export const modelIo: Contract = {
  name: 'model-io',
  title: 'Model recording',
  tells: 'The prompts sent to a model (as hashes) and its responses, so that a run can be replayed without it.',
  source: 'Model recordings 1.0.0',
  version: { field: 'model_io_schema_version', value: '1.0.0' },
  fileNames: ['model_io.json'],
  shape,
  rules,
  unknownKeys: 'MI12',
  core: ['model_io_schema_version', 'adapter_id', 'model_id', 'mode', 'interactions'],
  programText: ['interactions'],
  beyond: ['whether a model ever gave these answers', 'the prompts: it contains only their hashes'],
  bytesMax: 128 * MIB,
  example: {
    model_io_schema_version: '1.0.0',
    adapter_id: 'planner',
    model_id: 'example-model-1',
    mode: 'record',
    interactions: [
      {
        i: 0,
        prompt_hash: 'sha256:9d4e1e23bd5b727046a9e3b4b7db57bd8d6ee684a3c1f2e0b5d7c9a8f6e4d2b0',
        response_hash: bytesHash(answer),
        response_content: answer,
        latency_ms: 812,
      },
    ],
    created_at_utc: '2026-04-03T10:15:00.000Z',
  } satisfies ModelIo,
};
