/** Measures how often the named cause is the planted one. */
import type { Divergence } from '../src/contracts/comparison/index.ts';
import { rootCause, type Scene } from '../src/judge/causes/root-cause.ts';
import { type Cause, CAUSES, pairsWith } from './cause-pairs.ts';

export interface Score {
  readonly planted: Cause;
  readonly scene: Scene;
  readonly named: Divergence | null;
}

/** Scores `count` pairs for each cause. */
export function scoresOf(seed: number, count: number): Score[] {
  return CAUSES.flatMap(planted =>
    [...pairsWith(planted, count, seed)].map(scene => ({ planted, scene, named: rootCause(scene) })),
  );
}

/** Returns the share of correct causes among those that match `isNamed`, or null if none match. */
export function precisionOf(scores: readonly Score[], isNamed: (named: Divergence) => boolean): number | null {
  const told = scores.filter(({ named }) => named !== null && isNamed(named));
  return told.length === 0 ? null : told.filter(isRight).length / told.length;
}

export function recallOf(scores: readonly Score[], cause: Cause): number {
  const planted = scores.filter(score => score.planted === cause);
  return planted.filter(isRight).length / planted.length;
}

export function isRight({ planted, named }: Score): boolean {
  return named?.kind === planted;
}
