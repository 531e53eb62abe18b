import * as z from 'zod/mini';
import { ASKS, nameText } from '../agent-step/words.ts';
import { type Contract, MIB } from '../contract.ts';
import { must, rulesFor } from '../rule.ts';
import { contentHashText, count, filledText, record } from '../shape.ts';
import { bareNameTrouble } from '../script-request/bare-name.ts';

/** A file as it was given: by its bare name, never by where it lay. */
const given = () => record({ name: filledText(), sha256: contentHashText(), bytes: count() });

const shape = record({
  schema_version: z.literal('intent-request.v1'),
  run_id: nameText(),
  kind: z.literal('intent'),
  /** The file as its author wrote it; what was made of it lies beside as intent.json. */
  intent: given(),
  answers: z.nullable(given()),
  recording: z.nullable(given()),
  mode: z.enum(['plan-only', 'execute-sandbox']),
  policy: filledText(),
  model_mode: z.enum(['none', 'record', 'replay']),
});

export type IntentRequest = z.infer<typeof shape>;

const rule = rulesFor<IntentRequest>();

const rules = [
  rule({
    id: 'IQ1',
    title: 'Request Version Known',
    why: 'A reader must know by which rules a request was written before it believes a word of it.',
    asks: ['schema_version is "intent-request.v1"', 'should (must, when strict): no key is unknown'],
    fields: ['schema_version'],
    breach: request => ({ ...request, schema_version: 'intent-request.v9' }),
  }),
  rule({
    id: 'IQ2',
    title: 'Request Identified',
    why: 'A request that does not say which run it asked for can be laid to any.',
    asks: ['run_id is a name', ...ASKS.name, 'kind is "intent"'],
    fields: ['run_id', 'kind'],
    breach: request => ({ ...request, kind: 'script' }),
  }),
  rule({
    id: 'IQ3',
    title: 'Sources Named',
    why: 'What was read, byte for byte; but not where on which machine it lay.',
    asks: [
      'intent, and answers and recording unless they are null, have name, sha256 and bytes',
      'each name is a bare name: no path, no control or invisible character, at most 255 bytes',
    ],
    fields: ['intent', 'answers', 'recording'],
    *check({ intent, answers, recording }) {
      for (const [at, file] of Object.entries({ intent, answers, recording })) {
        const trouble = file && bareNameTrouble(file.name);
        if (trouble) yield must(`${at}.name`, trouble);
      }
    },
    breach: request => ({ ...request, intent: { ...request.intent, name: 'intents/a.json' } }),
  }),
  rule({
    id: 'IQ4',
    title: 'Way Stated',
    why: 'The same intent ends otherwise in another mode or under another profile.',
    asks: [
      'mode is plan-only or execute-sandbox, policy the name of a profile, model_mode none, record or replay',
      'where a model was replayed, recording is not null',
    ],
    fields: ['mode', 'policy', 'model_mode'],
    reads: ['recording'],
    *check({ model_mode, recording }) {
      if (model_mode === 'replay' && recording === null) yield must('model_mode', 'is replay, without a recording');
    },
    breach: request => ({ ...request, model_mode: 'replay' }),
  }),
];

export const intentRequest: Contract = {
  name: 'intent-request',
  title: 'Intent request',
  tells: 'What was asked for: which intent, with which answers, in which mode and under which profile.',
  source: 'Run folder of Proctor',
  version: { field: 'schema_version', value: 'intent-request.v1' },
  shape,
  rules,
  unknownKeys: 'IQ1',
  beyond: ['whether the files that were read still exist'],
  bytesMax: MIB,
  example: {
    schema_version: 'intent-request.v1',
    run_id: 'intent_20260403_101500_4f1c9a7be210',
    kind: 'intent',
    intent: {
      name: 'build-config.json',
      sha256: 'sha256:9d4e1e23bd5b727046a9e3b4b7db57bd8d6ee684a3c1f2e0b5d7c9a8f6e4d2b0',
      bytes: 812,
    },
    answers: null,
    recording: null,
    mode: 'execute-sandbox',
    policy: 'strict',
    model_mode: 'none',
  } satisfies IntentRequest,
};
