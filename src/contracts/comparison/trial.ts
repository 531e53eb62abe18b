import * as z from 'zod/mini';
import { failedAttempt, milliseconds } from '../artifacts/words.ts';
import { between, contentHashText, record } from '../shape.ts';

/** Why a case has no verdict of its own: the classes of a failed attempt, or nothing at all that could be read. */
const troubleClass = () =>
  z.enum(['timeout', 'http_error', 'invalid_json', 'schema_mismatch', 'network_error', 'other', 'missing']);

/** What one trial of one case came to, wherever it is told again. */
export const trialKeys = {
  verdict: z.enum(['pass', 'fail', 'error']),
  error_class: z.nullable(troubleClass()),
  output_hash: z.nullable(z.string()),
  /** Of everything in the answer but its ids and times; absent where it was not taken. */
  answer_hash: z.optional(contentHashText()),
  latency_ms: z.nullable(milliseconds()),
  cost_usd: z.nullable(z.number().check(z.gte(0))),
  score: z.nullable(between(0, 1)),
  /** Of a trial without an answer. */
  failure: z.optional(failedAttempt()),
};

const trial = record(trialKeys);

export type Trial = z.infer<typeof trial>;

type Told = Pick<Trial, 'verdict' | 'error_class'>;

/** What a trial says of the agent: it did well, it did badly, or the trial says nothing. */
export type Standing = 'passed' | 'failed' | 'missing';

/**
 * An agent that answers too late, with an error or with something else than asked has failed. A line that broke, and a
 * check that could not be made, say nothing of the agent.
 */
export function standingOf({ verdict, error_class }: Told): Standing {
  if (verdict === 'pass') return 'passed';
  if (verdict === 'fail') return 'failed';
  return error_class !== null && THE_AGENTS_OWN.has(error_class) ? 'failed' : 'missing';
}

const THE_AGENTS_OWN: ReadonlySet<string> = new Set(['timeout', 'http_error', 'invalid_json', 'schema_mismatch']);

export interface Paired {
  readonly change: 'regressed' | 'improved' | 'same' | 'flaky' | 'missing';
  readonly side_missing?: 'baseline' | 'new' | 'both';
}

/**
 * What became of a case. Only trials that say something count: a side without one is missing; a side that shows both is
 * flaky; else each side is of one mind, and the two are compared.
 */
export function changeOf(baseline: readonly Told[], candidate: readonly Told[]): Paired {
  const before = mindOf(baseline);
  const now = mindOf(candidate);
  if (before === 'missing' || now === 'missing') {
    const side = before !== 'missing' ? 'new' : now !== 'missing' ? 'baseline' : 'both';
    return { change: 'missing', side_missing: side };
  }
  if (before === 'both' || now === 'both') return { change: 'flaky' };
  if (before === now) return { change: 'same' };
  return { change: before === 'passed' ? 'regressed' : 'improved' };
}

function mindOf(trials: readonly Told[]): Standing | 'both' {
  let mind: Standing = 'missing';
  for (const trial of trials) {
    const standing = standingOf(trial);
    if (standing === 'missing' || standing === mind) continue;
    if (mind !== 'missing') return 'both';
    mind = standing;
  }
  return mind;
}

export interface Discordant {
  readonly broke: number;
  readonly mended: number;
}

/** How many trials of a case, each with the one of the same number on the other side, went from good to bad and back. */
export function discordantIn(baseline: readonly Told[], candidate: readonly Told[]): Discordant {
  let broke = 0;
  let mended = 0;
  for (let index = 0; index < Math.min(baseline.length, candidate.length); index++) {
    const before = standingOf(baseline[index] as Told);
    const now = standingOf(candidate[index] as Told);
    if (before === 'passed' && now === 'failed') broke++;
    if (before === 'failed' && now === 'passed') mended++;
  }
  return { broke, mended };
}
