import * as z from 'zod/mini';
import { type Finding, must } from '../rule.ts';
import { contentHashText, count, matching, record, wordyText } from '../shape.ts';

/** A total count and the first occurrences by location. Never contains values. */
const tallied = () =>
  record({
    total: count(),
    listed: z.array(record({ what: wordyText(), where: wordyText(), count: count() })).check(z.maxLength(100)),
  });

const status = () => z.nullable(count().check(z.gte(100), z.lte(599)));
const limit = () => z.nullable(z.number().check(z.gte(0)));

/** How an agent reached its model. Optional keys are absent in older evidence. */
export const modelAccessShape = record({
  mode: z.enum(['none', 'live', 'record', 'replay']),
  requests: count(),
  failures: count(),
  recording_sha256: z.nullable(contentHashText()),
  /** The first request that differs from the recording. */
  difference: z.nullable(wordyText()),
  /** The last HTTP status of the model API; null if it did not answer or the agent gave up. */
  last_status: z.optional(status()),
  /** The model proxy's counts for all clients in the sandbox. `estimated` counts answers that did not report usage. */
  counted: z.optional(
    record({
      requests: count(),
      input_tokens: z.nullable(count()),
      cached_input_tokens: z.nullable(count()),
      output_tokens: z.nullable(count()),
      cost_usd: limit(),
      estimated: count(),
    }),
  ),
  /** The limits; null for none. */
  budget: z.optional(record({ max_turns: limit(), max_requests: limit(), max_tokens: limit(), max_cost_usd: limit() })),
  /** Requests that the proxy refused, and parts that it removed from requests. */
  refused: z.optional(tallied()),
  stripped: z.optional(tallied()),
  /** The credential for the model API: an environment variable, or a login of the agent's program. */
  credential: z.optional(
    record({
      from: z.enum(['environment', 'login']),
      name: matching(/^[A-Za-z][A-Za-z0-9_]{0,99}$/, 'a name of at most 100 letters, digits and underscores'),
    }),
  ),
});

type ModelAccess = z.infer<typeof modelAccessShape>;

/** The proxy's counts, which survive an interrupted run. */
export type DoorCount = Pick<ModelAccess, 'requests' | 'failures' | 'last_status' | 'counted' | 'refused' | 'stripped'>;

/** The proxy's counts, as recovery reads them. */
export const doorCountShape = record({
  requests: count(),
  failures: count(),
  difference: z.nullable(z.string()),
  last_status: modelAccessShape.shape.last_status,
  counted: modelAccessShape.shape.counted,
  refused: modelAccessShape.shape.refused,
  stripped: modelAccessShape.shape.stripped,
});

export const MODEL_ACCESS_ASKS = [
  'model_access has mode, requests, failures, recording_sha256 and difference',
  'mode is none, live, record or replay',
  'recording_sha256 is null unless mode is record or replay',
  'difference is null unless mode is replay',
  'requests is 0 if mode is none',
  'last_status, if present, is the last HTTP status of the model API, from 100 to 599, or null',
  'counted, if present, has requests, input_tokens, cached_input_tokens, output_tokens, cost_usd and estimated, as counted by the model proxy; unknown values are null',
  'counted.requests, the requests that got a model answer, is at most requests',
  'budget, if present, has max_turns, max_requests, max_tokens and max_cost_usd, each null if unlimited',
  'refused and stripped, if present, have total and listed: at most 100 entries with what, where and count; the counts add up to at most total',
  'credential, if present, has from (environment or login) and name; it is absent unless mode is live or record',
] as const;

export function* modelAccessFindings(access: ModelAccess): Generator<Finding> {
  const { mode, requests, recording_sha256, difference, counted } = access;
  const isRecorded = mode === 'record' || mode === 'replay';
  if (!isRecorded && recording_sha256 !== null)
    yield must('model_access.recording_sha256', 'must be null unless mode is "record" or "replay"');
  if (mode !== 'replay' && difference !== null)
    yield must('model_access.difference', 'must be null unless mode is "replay"');
  if (mode === 'none' && requests !== 0) yield must('model_access.requests', 'must be 0 if mode is "none"');
  if (access.credential && mode !== 'live' && mode !== 'record')
    yield must('model_access.credential', 'must be absent unless mode is "live" or "record"');
  if (counted && counted.requests > requests)
    yield must('model_access.counted.requests', 'must not exceed model_access.requests');
  for (const name of ['refused', 'stripped'] as const) {
    const { total = 0, listed = [] } = access[name] ?? {};
    if (listed.reduce((sum, one) => sum + one.count, 0) > total)
      yield must(`model_access.${name}.total`, 'is less than the sum of the listed counts');
  }
}
