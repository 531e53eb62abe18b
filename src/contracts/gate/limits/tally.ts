import { standingOf, type Trial } from '../../comparison/trial.ts';
import type { Tally } from './shape.ts';

/** The counted fields of a trial. Results of other tools have no output hash. */
export type CountedTrial = Pick<Trial, 'verdict' | 'error_class' | 'latency_ms' | 'cost_usd' | 'score'> &
  Partial<Pick<Trial, 'output_hash' | 'failure'>>;

/** Unlike the verdict, this distinguishes judged answers from unjudged ones. */
export function countsAs(trial: CountedTrial): 'passed' | 'failed' | 'unjudged' | 'missing' {
  const standing = standingOf(trial);
  if (standing === 'passed') return trial.score === null ? 'unjudged' : 'passed';
  if (standing === 'failed') return 'failed';
  const isAnswered = (trial.output_hash ?? null) !== null || trial.latency_ms !== null;
  return isAnswered ? 'unjudged' : 'missing';
}

export function tallyOf(trials: Iterable<CountedTrial>, before: Tally = NOTHING): Tally {
  const tally = { ...before };
  for (const trial of trials) {
    const counted = countsAs(trial);
    tally[counted]++;
    const latency = latencyOf(trial);
    if (latency !== null) {
      tally.timed++;
      tally.latency_ms += latency;
    } else if (trial.error_class === 'timeout') tally.untimed = (tally.untimed ?? 0) + 1;
    if (trial.cost_usd !== null) {
      tally.priced++;
      tally.cost_usd += trial.cost_usd;
      // Without an answer, the agent cannot report a cost.
    } else if (isAnswered(trial)) tally.unpriced++;
  }
  return tally;
}

/** A trial that timed out took at least as long as the timeout. */
function latencyOf({ latency_ms, error_class, failure }: CountedTrial): number | null {
  return latency_ms ?? (error_class === 'timeout' ? (failure?.latency_ms ?? null) : null);
}

/** An answer that cannot be read or checked still has a cost. */
function isAnswered({ verdict, error_class, output_hash = null }: CountedTrial): boolean {
  if (verdict !== 'error' || output_hash !== null) return true;
  return error_class === 'invalid_json' || error_class === 'schema_mismatch';
}

const NOTHING: Tally = {
  passed: 0,
  failed: 0,
  unjudged: 0,
  missing: 0,
  timed: 0,
  latency_ms: 0,
  priced: 0,
  unpriced: 0,
  cost_usd: 0,
};
