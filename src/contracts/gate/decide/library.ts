/** The package entry point `proctor/gate`. */
export { type AgainOptions, casesToAskAgain } from './again.ts';
export type { Count } from './case-test.ts';
export { type CaseMeasure, decideMetric, type MetricDecision, type MetricOptions } from './metric.ts';
export type { PassRate } from './pass-rate.ts';
export type { GateTrial } from './trials.ts';
export {
  type CaseFinding,
  decideTrials,
  type GateCause,
  type GateDecision,
  type GateMode,
  type GateOptions,
} from './verdict.ts';
