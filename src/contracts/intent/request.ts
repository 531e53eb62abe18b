import * as z from 'zod/mini';
import { STEP_ASKS, nameText } from '../agent-step/words.ts';
import { type Contract, MIB } from '../contract.ts';
import { must, rulesFor, versionRule } from '../rule.ts';
import { contentHashText, count, filledText, record } from '../shape.ts';
import { bareNameFault } from '../script-request/bare-name.ts';

/** An input file, by its bare name and without its folder. */
const given = () => record({ name: filledText(), sha256: contentHashText(), bytes: count() });

const shape = record({
  schema_version: z.literal('intent-request.v1'),
  run_id: nameText(),
  kind: z.literal('intent'),
  /** The file as its author wrote it. The effective intent is in intent.json. */
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
  versionRule('IQ1', 'Request Version Known', 'intent-request.v1', 'a request'),
  rule({
    id: 'IQ2',
    title: 'Request Identified',
    why: 'A request must name the run that it started.',
    asks: ['run_id is a name', ...STEP_ASKS.name, 'kind is "intent"'],
    fields: ['run_id', 'kind'],
    breach: request => ({ ...request, kind: 'script' }),
  }),
  rule({
    id: 'IQ3',
    title: 'Sources Named',
    why: 'The hashes identify the input files; their location on the host stays private.',
    asks: [
      'intent, and answers and recording unless they are null, have name, sha256 and bytes',
      'each name is a bare name: no path, no control or invisible characters, at most 255 bytes',
    ],
    fields: ['intent', 'answers', 'recording'],
    *check({ intent, answers, recording }) {
      for (const [at, file] of Object.entries({ intent, answers, recording })) {
        const fault = file && bareNameFault(file.name);
        if (fault) yield must(`${at}.name`, fault);
      }
    },
    breach: request => ({ ...request, intent: { ...request.intent, name: 'intents/a.json' } }),
  }),
  rule({
    id: 'IQ4',
    title: 'Way Stated',
    why: 'The result of an intent depends on its mode and its profile.',
    asks: [
      'mode is plan-only or execute-sandbox; policy is the name of a profile; model_mode is none, record or replay',
      'if model_mode is replay, recording is not null',
    ],
    fields: ['mode', 'policy', 'model_mode'],
    reads: ['recording'],
    *check({ model_mode, recording }) {
      if (model_mode === 'replay' && recording === null)
        yield must('model_mode', 'is replay, but there is no recording');
    },
    breach: request => ({ ...request, model_mode: 'replay' }),
  }),
];

export const intentRequest: Contract = {
  name: 'intent-request',
  title: 'Intent request',
  tells: 'The request for a run: the intent, the answers, the mode and the profile.',
  source: 'Proctor run folder',
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
