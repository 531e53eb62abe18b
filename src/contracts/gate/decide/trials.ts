import type { Count } from './case-test.ts';

export interface GateTrial {
  readonly case: string;
  readonly trial: number;
  readonly pass: boolean;
  /** The case looked broken, so it ran again. Reruns count for their case, never for the suite's mean. */
  readonly rerun?: boolean;
}

export interface SideTrials {
  readonly planned: Count;
  readonly again: Count;
}

/** The trials of a case on both sides. */
export interface CaseTrials {
  readonly id: string;
  readonly baseline: SideTrials;
  readonly candidate: SideTrials;
}

/** Counts trials per case, in order of first appearance. */
export function countTrials(baseline: Iterable<GateTrial>, candidate: Iterable<GateTrial>): CaseTrials[] {
  const counts = new Map<string, Record<'baseline' | 'candidate', { planned: Tally; again: Tally }>>();
  for (const [side, trials] of [['baseline', baseline] as const, ['candidate', candidate] as const]) {
    for (const { case: id, pass, rerun } of trials) {
      let count = counts.get(id);
      if (!count) counts.set(id, (count = { baseline: newTally(), candidate: newTally() }));
      const tally = count[side][rerun ? 'again' : 'planned'];
      tally.trials++;
      if (pass) tally.passes++;
    }
  }
  return Array.from(counts, ([id, sides]) => ({ id, ...sides }));
}

interface Tally {
  passes: number;
  trials: number;
}

function newTally(): { planned: Tally; again: Tally } {
  return { planned: { passes: 0, trials: 0 }, again: { passes: 0, trials: 0 } };
}

/** Planned trials and reruns of a side. */
export function allOf({ planned, again }: SideTrials): Count {
  if (again.trials === 0) return planned;
  return { passes: planned.passes + again.passes, trials: planned.trials + again.trials };
}
