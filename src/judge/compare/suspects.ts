import { countsOf } from '../../contracts/comparison/index.ts';
import { askAgain, findingsOf } from '../../contracts/gate/decide/index.ts';
import type { SuiteRequest } from '../../contracts/suite/index.ts';
import type { Side } from '../compare-input.ts';
import type { Gate } from './gate.ts';
import { pairsOf } from './pairing.ts';

/** A case that deserves one more trial, and why. */
export type AskedCase = NonNullable<SuiteRequest['rerun']>['cases'][number];

/** The cases to rerun in the next round, most suspicious first. `sides` is `new` if the baseline cannot be rerun. */
export function casesToAsk(baseline: Side, candidate: Side, gate: Gate, sides: 'both' | 'new'): AskedCase[] {
  const tried = Array.from(pairsOf(baseline, candidate), ({ caseId, baseline: before, candidate: now }) => ({
    case_id: caseId,
    baseline: { trials: [...before] },
    new: { trials: [...now] },
  }));
  const { counted } = countsOf(tried, { baseline: false, new: false });
  const { alpha, critical } = gate;
  const options = { ...(alpha !== undefined && { alpha }), ...(critical && { critical }) };
  const rounds = candidate.trials.filter(({ isRerun }) => isRerun).length;
  const ids = new Set(askAgain(counted, { ...options, rounds, sides: sides === 'both' ? 'both' : 'candidate' }));
  return findingsOf(counted.filter(({ id }) => ids.has(id))).map(
    ({ case: case_id, baseline: was, candidate: is, p }) => ({ case_id, baseline: { ...was }, new: { ...is }, p }),
  );
}
