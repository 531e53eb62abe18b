import * as z from 'zod/mini';
import { FAMILIES } from '../agent-step/words.ts';
import { contentHashText, count, instant, matching, record } from '../shape.ts';

/** How a model is asked: in whose words requests, answers and errors are written. */
const APIS = ['anthropic', 'openai', 'openai-chat', 'gemini'] as const;

/** How an agent is known to its API. It asks other things with a login than with a key. */
const CREDENTIALS = ['key', 'bearer', 'oauth'] as const;

/** A body: JSON as the value that it is, else as text, else, where the bytes are no text, in base64. Null if there was none. */
const body = () => z.nullable(record({ form: z.enum(['json', 'text', 'base64']), value: z.unknown() }));

const request = record({
  method: z.enum(['GET', 'HEAD', 'POST']),
  /** Below the address of the API, with its query. */
  path: matching(/^\/[!-~]{0,8191}$/, 'a path of printable ASCII letters that begins with a slash'),
  body: body(),
});

const response = record({
  status: z.int().check(z.gte(200), z.lte(599)),
  content_type: z.nullable(matching(/^[ -~]{1,200}$/, 'at most 200 printable ASCII letters')),
  body: body(),
  /** False where it broke off. */
  complete: z.boolean(),
});

const exchange = record({
  seq: z.int().check(z.gte(1)),
  request,
  /** Null where the agent hung up before an answer began. */
  response: z.nullable(response),
});

export const recordingShape = record({
  schema_version: z.literal('recording.v1'),
  agent_family: z.enum(FAMILIES),
  agent_version: matching(/^[!-~]{1,100}$/, 'a version of at most 100 letters'),
  api: z.enum(APIS),
  /** `key`, if not said. */
  credential: z.optional(z.enum(CREDENTIALS)),
  created_at: instant(),
  task_sha256: contentHashText(),
  session_id: matching(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'a UUID in lower case'),
  /** `cut`: it was full before the run was over; `interrupted`: whoever wrote it died. */
  ended: z.enum(['whole', 'cut', 'interrupted']),
  /** How many secrets are masked in it. */
  masked: count(),
  exchanges: z.array(exchange).check(z.maxLength(10_000)),
});

export type Recording = z.infer<typeof recordingShape>;

export type Exchange = z.infer<typeof exchange>;

export type RecordedRequest = z.infer<typeof request>;

export type RecordedResponse = z.infer<typeof response>;

export type RecordedBody = z.infer<ReturnType<typeof body>>;

export type CredentialKind = (typeof CREDENTIALS)[number];

export type Api = (typeof APIS)[number];
