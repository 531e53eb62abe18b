import type { Comparison } from '../../src/contracts/comparison/index.ts';
import type { Side } from '../../src/judge/compare-input.ts';
import { gateOf } from '../../src/judge/compare/gate.ts';
import { compared, failedCase, hashOf, judgedCase, side, trial } from '../judge/compare/sides.ts';

const ids = (count: number): string[] => Array.from({ length: count }, (_, index) => `refund-${index + 1}`);
const passing = (count: number) => ids(count).map(id => judgedCase(id));
const failing = (count: number, ...failed: readonly string[]) =>
  ids(count).map(id => (failed.includes(id) ? failedCase(id) : judgedCase(id)));
const times = <Item>(count: number, item: Item): Item[] => Array.from({ length: count }, () => item);

/** One of thirty cases always passed and now never does, which may be chance with two trials. */
export const withSuspect = (): Comparison =>
  compared(side('baseline', ...times(2, passing(30))), side('new', ...times(2, failing(30, 'refund-7'))));

/** A case that was rerun until the result was clear. */
export function withReruns(): Comparison {
  const asked = (name: string, planned: Side, again: ReturnType<typeof judgedCase>): Side => ({
    ...planned,
    trials: [
      ...planned.trials,
      ...ids(5).map((_, round) => trial(`${name}_1.a${round + 1}`, [again], { isRerun: true })),
    ],
  });
  const found = compared(
    asked('baseline', side('baseline', passing(10)), judgedCase('refund-3')),
    asked('new', side('new', failing(10, 'refund-3')), failedCase('refund-3')),
  );
  const again = { sides: 'both', rounds: 5, trials: 10, cost_usd: null, stopped: 'settled' } as const;
  return { ...found, again: { ...again, max_trials: 200, max_ms: 600_000 } };
}

/** Nothing got worse in thirty cases with one trial. */
export const notWorse = (): Comparison => compared(side('baseline', passing(30)), side('new', passing(30)));

/** The same, with a gate that must rule out a drop. */
export const unsettled = (): Comparison =>
  compared(side('baseline', passing(30)), side('new', passing(30)), gateOf({ mode: 'proven' }));

export function identical(): Comparison {
  const same = ids(10).map(id => judgedCase(id, { answer_hash: hashOf(id) }));
  return compared(side('baseline', same), side('new', same));
}

/** A comparison as versions without the current gate wrote it. */
export function withoutDecision(): Comparison {
  const { decision: _, ...old } = withSuspect();
  return { ...old, verdict: 'regression', exit_code: 1, reason: '1 of 30 cases regressed.' };
}

/** Nine of twelve cases fail in one of three trials, and none did in the baseline. */
export function worse(): Comparison {
  const slipping = ids(12).slice(0, 9);
  return compared(
    side('baseline', ...times(3, passing(12))),
    side('new', ...times(2, passing(12)), failing(12, ...slipping)),
  );
}
