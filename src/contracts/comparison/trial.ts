import * as z from 'zod/mini';
import { repairSums } from '../artifacts/repairs.ts';
import { failedAttempt, milliseconds } from '../artifacts/words.ts';
import { between, contentHashText, record } from '../shape.ts';

/** Why a trial has no answer that could be judged. */
const trialErrorClass = () =>
  z.enum(['timeout', 'http_error', 'invalid_json', 'schema_mismatch', 'network_error', 'other', 'missing']);

const tokens = () => z.number().check(z.gte(0));

/** The result of one trial, as stored in comparisons and baselines. */
export const trialKeys = {
  verdict: z.enum(['pass', 'fail', 'error']),
  error_class: z.nullable(trialErrorClass()),
  output_hash: z.nullable(z.string()),
  /** The hash of the answer without its ids and times; absent if not computed. */
  answer_hash: z.optional(contentHashText()),
  latency_ms: z.nullable(milliseconds()),
  /** Time to the first token of a streamed reply; absent if unknown. */
  ttft_ms: z.optional(milliseconds()),
  cost_usd: z.nullable(z.number().check(z.gte(0))),
  score: z.nullable(between(0, 1)),
  /** As the agent reports them; absent if unknown. */
  tokens: z.optional(tokens()),
  input_tokens: z.optional(tokens()),
  output_tokens: z.optional(tokens()),
  /** Only for a trial without an answer. */
  failure: z.optional(failedAttempt()),
  /** The repairs of the answer; absent if there are none. */
  repairs: z.optional(repairSums),
};

const trial = record(trialKeys);

export type Trial = z.infer<typeof trial>;

type Outcome = Pick<Trial, 'verdict' | 'error_class'>;

/** Whether the agent passed or failed, or the trial does not count. */
export type Standing = 'passed' | 'failed' | 'missing';

/**
 * A late, erroneous or malformed answer counts as an agent failure. A broken connection, or a check that
 * could not run, does not count.
 */
export function standingOf({ verdict, error_class }: Outcome): Standing {
  if (verdict === 'pass') return 'passed';
  if (verdict === 'fail') return 'failed';
  return error_class !== null && AGENT_ERRORS.has(error_class) ? 'failed' : 'missing';
}

const AGENT_ERRORS: ReadonlySet<string> = new Set(['timeout', 'http_error', 'invalid_json', 'schema_mismatch']);

export interface Paired {
  readonly change: 'regressed' | 'improved' | 'same' | 'flaky' | 'missing';
  readonly side_missing?: 'baseline' | 'new' | 'both';
}

/**
 * The change of a case. A side without a trial that counts is missing. A side with both passes and failures is flaky.
 */
export function changeOf(baseline: readonly Outcome[], candidate: readonly Outcome[]): Paired {
  const baselineResult = overallOf(baseline);
  const candidateResult = overallOf(candidate);
  if (baselineResult === 'missing' || candidateResult === 'missing') {
    const side = baselineResult !== 'missing' ? 'new' : candidateResult !== 'missing' ? 'baseline' : 'both';
    return { change: 'missing', side_missing: side };
  }
  if (baselineResult === 'both' || candidateResult === 'both') return { change: 'flaky' };
  if (baselineResult === candidateResult) return { change: 'same' };
  return { change: baselineResult === 'passed' ? 'regressed' : 'improved' };
}

function overallOf(trials: readonly Outcome[]): Standing | 'both' {
  let overall: Standing = 'missing';
  for (const trial of trials) {
    const standing = standingOf(trial);
    if (standing === 'missing' || standing === overall) continue;
    if (overall !== 'missing') return 'both';
    overall = standing;
  }
  return overall;
}

export interface Discordant {
  readonly broke: number;
  readonly mended: number;
}

/** Pairs trials by index and counts those that went from pass to fail, and from fail to pass. */
export function discordantIn(baseline: readonly Outcome[], candidate: readonly Outcome[]): Discordant {
  let broke = 0;
  let mended = 0;
  for (let index = 0; index < Math.min(baseline.length, candidate.length); index++) {
    const baselineResult = standingOf(baseline[index] as Outcome);
    const candidateResult = standingOf(candidate[index] as Outcome);
    if (baselineResult === 'passed' && candidateResult === 'failed') broke++;
    if (baselineResult === 'failed' && candidateResult === 'passed') mended++;
  }
  return { broke, mended };
}
