import { type Contract, MIB } from '../contract.ts';
import { comparisonExample } from './example.ts';
import { comparisonRules } from './rules.ts';
import { comparisonShape } from './shape.ts';

export { SAYS_BYTES_MAX } from './case-rules.ts';
export {
  byKind,
  type CaseChange,
  type CaseDifference,
  DIFFERENCE_BYTES_MAX,
  DIFFERENCES_MAX,
  isWeakened,
} from './changed.ts';
export { checkNewSide } from './limit-rule.ts';
export type { ComparedCase, ComparedSide, Comparison, Decision, Divergence, MetricComparison } from './shape.ts';
export { changeOf, discordantIn, type Standing, standingOf, type Trial } from './trial.ts';
export { VERDICT_OF } from './causes.ts';
export { type DecidedComparison, decideComparison, type DecisionInput } from './decision.ts';
export { countsOf, isWithoutExpectations } from './counts.ts';
export { metricSentence, TAIL_SHARE_MAX } from './metrics.ts';
export { EXIT_CODES } from './verdict-rule.ts';

export const comparison: Contract = {
  name: 'comparison',
  title: 'Comparison',
  tells: 'Whether the candidate is worse than the baseline, in which cases, and what differed first in each.',
  source: 'Proctor, compare',
  version: { field: 'schema_version', value: 'comparison.v1' },
  shape: comparisonShape,
  rules: comparisonRules,
  unknownKeys: 'CM1',
  programText: ['cases'],
  beyond: [
    'whether the named runs were judged as stated',
    'whether the first difference is the cause',
    'whether the intervals of the metrics match their pairs',
  ],
  bytesMax: 256 * MIB,
  example: comparisonExample,
};
