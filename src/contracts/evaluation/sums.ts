import type { Trial } from '../comparison/trial.ts';
import { countsAs } from '../gate/limits/tally.ts';
import type { Assertion, Evaluation, JudgedCase } from './shape.ts';

interface Judged {
  readonly verdict: JudgedCase['verdict'];
  readonly error_class: JudgedCase['error_class'];
  readonly assertions: readonly Assertion[];
}

export function summaryOf(cases: readonly Pick<Judged, 'verdict' | 'assertions'>[]): Evaluation['summary'] {
  const summary = { total: cases.length, passed: 0, failed: 0, errors: 0, unjudged: 0 };
  for (const { verdict, assertions } of cases) {
    if (verdict === 'pass') summary.passed++;
    else if (verdict === 'fail') summary.failed++;
    else summary.errors++;
    if (verdict === 'pass' && !assertions.some(isJudged)) summary.unjudged++;
  }
  return summary;
}

/** Answered cases that prove nothing: without an expectation, or with expectations that could not be judged. */
export interface UnjudgedCounts {
  readonly bare: number;
  readonly open: number;
}

export function unjudgedIn(cases: readonly Pick<Judged, 'verdict' | 'assertions'>[]): UnjudgedCounts {
  const unjudged = cases.filter(({ verdict, assertions }) => verdict === 'pass' && !assertions.some(isJudged));
  const bare = unjudged.filter(({ assertions }) => assertions.length === 0).length;
  return { bare, open: unjudged.length - bare };
}

/** The share of judged assertions that hold; null if none was judged or the verdict is error. */
export function scoreOf({ verdict, assertions }: Pick<Judged, 'verdict' | 'assertions'>): number | null {
  if (verdict === 'error') return null;
  let judged = 0;
  let passed = 0;
  for (const { status } of assertions) {
    if (status !== 'not_judged') judged++;
    if (status === 'pass') passed++;
  }
  return judged === 0 ? null : passed / judged;
}

/** An error takes precedence, then a failed assertion. An answer without failed assertions passes. */
export function verdictOf({
  error_class,
  assertions,
}: Pick<Judged, 'error_class' | 'assertions'>): JudgedCase['verdict'] {
  if (error_class !== null) return 'error';
  return assertions.some(({ status }) => status === 'fail') ? 'fail' : 'pass';
}

/** Whether at least one case failed and none passed. */
export function isAllFailing(cases: readonly JudgedCase[]): boolean {
  const counts = new Set(cases.map(one => countsAs(trialOf(one))));
  return counts.has('failed') && !counts.has('passed');
}

export function trialOf({
  verdict,
  error_class,
  output_hash,
  answer_hash,
  metrics,
  failure,
  repairs,
}: JudgedCase): Trial {
  const { latency_ms, ttft_ms, cost_usd, score, tokens, input_tokens, output_tokens } = metrics;
  return {
    verdict,
    error_class,
    output_hash,
    ...(answer_hash && { answer_hash }),
    latency_ms,
    ...(ttft_ms !== undefined && { ttft_ms }),
    cost_usd,
    score,
    ...(tokens !== null && { tokens }),
    ...(input_tokens !== undefined && { input_tokens }),
    ...(output_tokens !== undefined && { output_tokens }),
    ...(failure && { failure }),
    ...(repairs && { repairs }),
  };
}

function isJudged({ status }: Assertion): boolean {
  return status !== 'not_judged';
}
