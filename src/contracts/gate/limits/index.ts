export { checkLimits, type CountedCase, hasLimits, limitsIn } from './check.ts';
export { LIMIT_ASKS, limitFindings, soundLimits } from './findings.ts';
export { checkRun } from './judged.ts';
export {
  type AskedLimits,
  type CaseGroup,
  type JudgedLimits,
  type LimitCheck,
  type GateLimits,
  type Tally,
} from './shape.ts';
export { unmetText } from './sentence.ts';
export { type CountedTrial, tallyOf } from './tally.ts';
