export { askAgain, casesToAskAgain } from './again.ts';
export { mcnemar, studentQuantile } from './distributions.ts';
export { passRate } from './pass-rate.ts';
export { firstOf, named, percent, points } from './sentence.ts';
export { readSuite } from './suite-test.ts';
export { type CaseMeasure, decideMetric, METRIC_CASES_MIN, type MetricDecision } from './metric.ts';
export type { CaseTrials, GateTrial, SideTrials } from './trials.ts';
export {
  type CaseFinding,
  decideCases,
  decideTrials,
  findingsOf,
  GATE_ALPHA,
  isPaired,
  type GateDecision,
  type GateMode,
} from './verdict.ts';
