import { STEP_ASKS } from '../agent-step/words.ts';
import { type Finding, must, rulesFor, versionRule } from '../rule.ts';
import type { RecordedBody, Recording } from './shape.ts';

const rule = rulesFor<Recording>();

export const recordingRules = [
  versionRule('RC1', 'Version Known', 'recording.v1', 'a recording'),
  rule({
    id: 'RC2',
    title: 'Agent Named',
    why: 'Requests depend on the agent and its version, and responses depend on the API.',
    asks: [
      'agent_family is claude_cli or codex_cli; agent_version has at most 100 printable ASCII characters',
      'api is anthropic, openai (its Responses API), openai-chat or gemini',
      'credential, if present, is key, bearer or oauth',
    ],
    fields: ['agent_family', 'agent_version', 'api', 'credential'],
    breach: recording => ({ ...recording, agent_family: 'someone' }),
  }),
  rule({
    id: 'RC3',
    title: 'Run Told',
    why: 'A recording is replayed only for the same task, with the same session id.',
    asks: [
      'created_at is an instant',
      ...STEP_ASKS.instant,
      'task_sha256, over the bytes of the task, is sha256: followed by 64 lower-case hexadecimal digits',
      'session_id is a UUID in lower case',
    ],
    fields: ['created_at', 'task_sha256', 'session_id'],
    breach: recording => ({ ...recording, session_id: 'mine' }),
  }),
  rule({
    id: 'RC4',
    title: 'End Told',
    why: 'Without this field, a truncated recording looks like a shorter, complete run.',
    asks: ['ended is whole, cut (the size limit was reached) or interrupted (Proctor died)'],
    fields: ['ended'],
    breach: recording => ({ ...recording, ended: 'somehow' }),
  }),
  rule({
    id: 'RC5',
    title: 'Masks Counted',
    why: 'If text was masked, replay differs from the original.',
    asks: ['masked is a non-negative integer'],
    fields: ['masked'],
    breach: recording => ({ ...recording, masked: -1 }),
  }),
  rule({
    id: 'RC6',
    title: 'Exchanges Counted',
    why: 'A gap in the sequence means that an exchange was removed.',
    asks: ['exchanges is a list of at most 10,000', 'seq counts from 1 without gaps, in list order'],
    fields: ['exchanges', 'exchanges[].seq'],
    *check({ exchanges }) {
      const wrong = exchanges.findIndex(({ seq }, index) => seq !== index + 1);
      if (wrong >= 0) yield must(`exchanges[${wrong}].seq`, `must be ${wrong + 1}`);
    },
    breach: recording => withEach(recording, one => ({ ...one, seq: one.seq + 1 })),
  }),
  rule({
    id: 'RC7',
    title: 'Requests Whole',
    why: 'Replay compares each new request with the recorded one in full.',
    asks: [
      'method is GET, HEAD or POST',
      'path starts with / and has at most 8,192 printable ASCII characters',
      'body is null, or has form (json, text or base64) and a value in that form',
    ],
    fields: ['exchanges[].request'],
    reads: ['exchanges'],
    *check({ exchanges }) {
      for (const [index, { request }] of exchanges.entries())
        yield* bodyFindings(request.body, `exchanges[${index}].request.body`);
    },
    breach: recording =>
      withEach(recording, one => ({ ...one, request: { ...one.request, body: { form: 'base64', value: '?' } } })),
  }),
  rule({
    id: 'RC8',
    title: 'Responses Exact',
    why: 'Replay returns the exact bytes, so a response is stored as text or base64, never as a JSON value.',
    asks: [
      'response is null, or has status (200 to 599), content_type (a string or null), body and complete',
      'body is null, or has form (text or base64) and a value in that form',
    ],
    fields: ['exchanges[].response'],
    reads: ['exchanges'],
    *check({ exchanges }) {
      for (const [index, { response }] of exchanges.entries()) {
        const path = `exchanges[${index}].response.body`;
        if (response?.body?.form === 'json') yield must(`${path}.form`, 'must be one of "text", "base64"');
        else if (response) yield* bodyFindings(response.body, path);
      }
    },
    breach: recording =>
      withEach(recording, one => ({ ...one, response: { ...one.response, body: { form: 'json', value: {} } } })),
  }),
];

function withEach(recording: Recording, change: (one: Recording['exchanges'][number]) => unknown): unknown {
  return { ...recording, exchanges: recording.exchanges.map(change) };
}

function* bodyFindings(body: RecordedBody, path: string): Generator<Finding> {
  if (!body || body.form === 'json') return;
  if (typeof body.value !== 'string') yield must(`${path}.value`, 'must be a string');
  else if (body.form === 'base64' && Buffer.from(body.value, 'base64').toString('base64') !== body.value)
    yield must(`${path}.value`, 'is not base64');
}
