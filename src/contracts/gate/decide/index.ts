export type { Count } from './case-test.ts';
export { type AgainOptions, askAgain, casesToAskAgain } from './again.ts';
export type { PassRate } from './pass-rate.ts';
export { mcnemar, studentQuantile } from './distributions.ts';
export { firstOf, named, percent, points } from './sentence.ts';
export { readSuite } from './suite-test.ts';
export { type CaseMeasure, decideMetric, METRIC_CASES_MIN, type MetricDecision, type MetricOptions } from './metric.ts';
export { type CaseTrials, countTrials, type GateTrial, type SideTrials } from './trials.ts';
export {
  type CaseFinding,
  decideCases,
  decideTrials,
  findingsOf,
  isPaired,
  type GateCause,
  type GateDecision,
  type GateMode,
  type GateOptions,
} from './verdict.ts';
