import * as z from 'zod/mini';
import { type Finding, must } from '../rule.ts';
import { contentHashText, count, matching, record, wordyText } from '../shape.ts';

/** Things of one kind that the door counted: all of them, and the first ones by their place. Never a value. */
const tallied = () =>
  record({
    total: count(),
    listed: z.array(record({ what: wordyText(), where: wordyText(), count: count() })).check(z.maxLength(100)),
  });

const status = () => z.nullable(count().check(z.gte(100), z.lte(599)));
const limit = () => z.nullable(z.number().check(z.gte(0)));

/** How an agent reached its model. What is optional is absent in evidence from before the door counted it. */
export const modelAccessShape = record({
  mode: z.enum(['none', 'live', 'record', 'replay']),
  requests: count(),
  failures: count(),
  recording_sha256: z.nullable(contentHashText()),
  /** Which request was the first that is not as it was recorded. */
  difference: z.nullable(wordyText()),
  /** What the model API answered last; null where it did not answer, or the agent gave up. */
  last_status: z.optional(status()),
  /** What the door counted, whoever inside asked. `estimated`: answers that did not say what they used. */
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
  /** What bounded it; null where nothing did. */
  budget: z.optional(record({ max_turns: limit(), max_requests: limit(), max_tokens: limit(), max_cost_usd: limit() })),
  /** Requests that the door refused, and what it took out of those that it let through. */
  refused: z.optional(tallied()),
  stripped: z.optional(tallied()),
  /** What opened the model API: a variable of the caller's environment, or the login of an agent's own program. */
  credential: z.optional(
    record({
      from: z.enum(['environment', 'login']),
      name: matching(/^[A-Za-z][A-Za-z0-9_]{0,99}$/, 'a name of at most 100 letters, digits and underscores'),
    }),
  ),
});

type ModelAccess = z.infer<typeof modelAccessShape>;

/** What a door counts, as far as a run that was interrupted can know it. */
export type DoorCount = Pick<ModelAccess, 'requests' | 'failures' | 'last_status' | 'counted' | 'refused' | 'stripped'>;

/** The shape of a count that a recovery reads. */
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
  'requests is 0 where mode is none',
  'last_status, if present, is null or from 100 to 599: what the model API answered last',
  'counted, if present, has requests, input_tokens, cached_input_tokens, output_tokens, cost_usd and estimated, as the door counted them; what it cannot know is null',
  'counted.requests, which made a model answer, are not more than requests',
  'budget, if present, has max_turns, max_requests, max_tokens and max_cost_usd, each null where nothing bounds it',
  'refused and stripped, if present, have total and listed: at most 100 places with what, where and count, which are together not more than total',
  'credential, if present, has from (environment or login) and name; it is absent unless mode is live or record',
] as const;

export function* doubtModelAccess(access: ModelAccess): Generator<Finding> {
  const { mode, requests, recording_sha256, difference, counted } = access;
  const isRecorded = mode === 'record' || mode === 'replay';
  if (!isRecorded && recording_sha256 !== null)
    yield must('model_access.recording_sha256', 'must be null where nothing was recorded or replayed');
  if (mode !== 'replay' && difference !== null)
    yield must('model_access.difference', 'must be null where nothing was replayed');
  if (mode === 'none' && requests !== 0) yield must('model_access.requests', 'must be 0 without a way to a model');
  if (access.credential && mode !== 'live' && mode !== 'record')
    yield must('model_access.credential', 'must be absent where no model API was opened');
  if (counted && counted.requests > requests)
    yield must('model_access.counted.requests', 'must not be more than all requests');
  for (const name of ['refused', 'stripped'] as const) {
    const { total = 0, listed = [] } = access[name] ?? {};
    if (listed.reduce((sum, one) => sum + one.count, 0) > total)
      yield must(`model_access.${name}.total`, 'is less than what is listed');
  }
}
