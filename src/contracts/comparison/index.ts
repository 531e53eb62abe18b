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
export { type Decided, decideComparison, type DecisionInput, VERDICT_OF } from './decision.ts';
export { countsOf, isWithoutExpectations } from './counts.ts';
export { metricSentence, TAIL_SHARE_MAX } from './metrics.ts';
export { EXIT_CODES } from './verdict-rule.ts';

export const comparison: Contract = {
  name: 'comparison',
  title: 'Comparison',
  tells: 'Whether the new side of a suite is worse than its baseline, in which cases, and what differed first in each.',
  source: 'Proctor, compare',
  version: { field: 'schema_version', value: 'comparison.v1' },
  shape: comparisonShape,
  rules: comparisonRules,
  unknownKeys: 'CM1',
  programText: ['cases'],
  beyond: [
    'whether the runs that it names were judged as it says',
    'whether the first difference is the cause',
    'whether the intervals of the metrics are those of their pairs',
  ],
  bytesMax: 256 * MIB,
  example: comparisonExample,
};
