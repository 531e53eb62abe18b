import { ASKS } from '../agent-step/words.ts';
import { type Finding, must, rulesFor } from '../rule.ts';
import type { RecordedBody, Recording } from './shape.ts';

const rule = rulesFor<Recording>();

export const recordingRules = [
  rule({
    id: 'RC1',
    title: 'Version Known',
    why: 'Without a version nobody can say by which rules a recording was made.',
    asks: ['schema_version is "recording.v1"', 'should (must, when strict): no key is unknown'],
    fields: ['schema_version'],
    breach: recording => ({ ...recording, schema_version: 'recording.v9' }),
  }),
  rule({
    id: 'RC2',
    title: 'Agent Named',
    why: 'Another agent asks other questions, and another API answers them in other words.',
    asks: [
      'agent_family is claude_cli or codex_cli, agent_version a version of at most 100 letters',
      'api is anthropic, openai (its Responses API), openai-chat or gemini',
      'credential, if present, is key, bearer or oauth',
    ],
    fields: ['agent_family', 'agent_version', 'api', 'credential'],
    breach: recording => ({ ...recording, agent_family: 'someone' }),
  }),
  rule({
    id: 'RC3',
    title: 'Run Told',
    why: 'A recording is replayed for the task that it was made of, in a session of the same name.',
    asks: [
      'created_at is an instant',
      ...ASKS.instant,
      'task_sha256, over the bytes of the task, is sha256: and 64 lower-case hexadecimal digits',
      'session_id is a UUID in lower case',
    ],
    fields: ['created_at', 'task_sha256', 'session_id'],
    breach: recording => ({ ...recording, session_id: 'mine' }),
  }),
  rule({
    id: 'RC4',
    title: 'End Told',
    why: 'What lacks its end looks like a shorter run that went well.',
    asks: ['ended is whole, cut (it was full) or interrupted (whoever wrote it died)'],
    fields: ['ended'],
    breach: recording => ({ ...recording, ended: 'somehow' }),
  }),
  rule({
    id: 'RC5',
    title: 'Masks Counted',
    why: 'Where something was masked, what is replayed is not what was said.',
    asks: ['masked is a whole number from 0 up'],
    fields: ['masked'],
    breach: recording => ({ ...recording, masked: -1 }),
  }),
  rule({
    id: 'RC6',
    title: 'Exchanges Counted',
    why: 'A gap in the count is an answer that somebody has taken out.',
    asks: ['exchanges is a list of at most 10,000', 'seq counts from 1, without a gap, in the order of the list'],
    fields: ['exchanges', 'exchanges[].seq'],
    *check({ exchanges }) {
      const wrong = exchanges.findIndex(({ seq }, index) => seq !== index + 1);
      if (wrong >= 0) yield must(`exchanges[${wrong}].seq`, `must be ${wrong + 1}`);
    },
    breach: ({ exchanges, ...rest }) => ({
      ...rest,
      exchanges: exchanges.map(one => ({ ...one, seq: one.seq + 1 })),
    }),
  }),
  rule({
    id: 'RC7',
    title: 'Requests Whole',
    why: 'What is asked again is compared with it, to the last word.',
    asks: [
      'method is GET, HEAD or POST',
      'path begins with a slash and is of at most 8,192 printable ASCII letters',
      'body is null, or has the form json, text or base64 and a value in that form',
    ],
    fields: ['exchanges[].request'],
    reads: ['exchanges'],
    *check({ exchanges }) {
      for (const [index, { request }] of exchanges.entries())
        yield* bodyFindings(request.body, `exchanges[${index}].request.body`);
    },
    breach: ({ exchanges, ...rest }) => ({
      ...rest,
      exchanges: exchanges.map(one => ({ ...one, request: { ...one.request, body: { form: 'base64', value: '?' } } })),
    }),
  }),
  rule({
    id: 'RC8',
    title: 'Responses Exact',
    why: 'What is replayed is what came, byte for byte; so it is kept as text or in base64, never as a value.',
    asks: [
      'response is null, or has a status from 200 to 599, a content_type or null, a body, and complete',
      'body is null, or has the form text or base64 and a value in that form',
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
    breach: ({ exchanges, ...rest }) => ({
      ...rest,
      exchanges: exchanges.map(one => ({ ...one, response: { ...one.response, body: { form: 'json', value: {} } } })),
    }),
  }),
];

function* bodyFindings(body: RecordedBody, path: string): Generator<Finding> {
  if (!body || body.form === 'json') return;
  if (typeof body.value !== 'string') yield must(`${path}.value`, 'must be a string');
  else if (body.form === 'base64' && Buffer.from(body.value, 'base64').toString('base64') !== body.value)
    yield must(`${path}.value`, 'is not base64');
}
