import * as z from 'zod/mini';
import { FAMILIES } from '../agent-step/words.ts';
import { contentHashText, count, instant, matching, record } from '../shape.ts';

/** The wire format of requests, responses and errors. */
const APIS = ['anthropic', 'openai', 'openai-chat', 'gemini'] as const;

/** How the agent authenticates. Its requests with a login differ from those with a key. */
const CREDENTIALS = ['key', 'bearer', 'oauth'] as const;

/** A JSON value, text, or base64 for bytes that are not text. Null if there was no body. */
const body = () => z.nullable(record({ form: z.enum(['json', 'text', 'base64']), value: z.unknown() }));

const request = record({
  method: z.enum(['GET', 'HEAD', 'POST']),
  /** Relative to the base URL of the API, with the query. */
  path: matching(/^\/[!-~]{0,8191}$/, 'a path of printable ASCII characters that starts with a slash'),
  body: body(),
});

const response = record({
  status: z.int().check(z.gte(200), z.lte(599)),
  content_type: z.nullable(matching(/^[ -~]{1,200}$/, 'at most 200 printable ASCII characters')),
  body: body(),
  /** False if the connection broke. */
  complete: z.boolean(),
});

const exchange = record({
  seq: z.int().check(z.gte(1)),
  request,
  /** Null if the agent disconnected before the response started. */
  response: z.nullable(response),
});

export const recordingShape = record({
  schema_version: z.literal('recording.v1'),
  agent_family: z.enum(FAMILIES),
  agent_version: matching(/^[!-~]{1,100}$/, 'a version of at most 100 printable ASCII characters'),
  api: z.enum(APIS),
  /** Defaults to `key`. */
  credential: z.optional(z.enum(CREDENTIALS)),
  created_at: instant(),
  task_sha256: contentHashText(),
  session_id: matching(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'a UUID in lower case'),
  /** `cut`: the recording reached its size limit; `interrupted`: Proctor died during the run. */
  ended: z.enum(['whole', 'cut', 'interrupted']),
  /** The number of masked secrets. */
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
