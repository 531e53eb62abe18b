import type { Divergence } from '../../contracts/comparison/index.ts';

/** One thing that two agents did differently, without a word on what it explains. */
export interface Difference {
  readonly kind: Divergence['kind'];
  readonly baselineAt: string | null;
  readonly newAt: string | null;
  /** A sentence without its full stop. */
  readonly says: string;
  /** Why it explains itself, such as a tool that answered with an error; a sentence. */
  readonly plainly?: string;
  /** Where it stands among the steps of the baseline: what comes first may have led to what comes later. */
  readonly order: number;
  /** How much it tells: see WEIGHT. */
  readonly weight: (typeof WEIGHT)[keyof typeof WEIGHT];
  /** As sure as it can be. */
  readonly atMost?: 'medium' | 'low';
  /** The tools it is about. */
  readonly tools?: readonly string[];
  /** What an agent met, in contrast to what it decided. */
  readonly isMet?: boolean;
  /** What a tool said that failed. */
  readonly refusal?: string;
}

export const WEIGHT = {
  /** Another choice, other arguments with another answer, another answer. */
  otherwise: 4,
  /** Something more or less, or other arguments that made no difference. */
  somewhat: 3,
  /** The same calls with the same answers, but not one after another, or not at the first attempt. */
  manner: 2,
  /** Nothing but ids and times, or the ranks of documents. */
  passing: 1,
} as const;

/** What the two are called: the one that came first, and at the beginning of a sentence the other. */
export interface Names {
  readonly was: string;
  readonly is: string;
}

/**
 * The difference that most likely led to the others: the first of those that weigh most. `isFirst` is false where another
 * one that weighs something comes before it.
 */
export function leading(
  differences: readonly Difference[],
  isNamed: (difference: Difference) => boolean = () => false,
): { readonly difference: Difference; readonly isFirst: boolean } | undefined {
  let best: Difference | undefined;
  let weightOfBest = 0;
  for (const one of differences) {
    const weight = one.weight > WEIGHT.passing && isNamed(one) ? WEIGHT.otherwise : one.weight;
    if (best && (weight < weightOfBest || (weight === weightOfBest && one.order >= best.order))) continue;
    best = one;
    weightOfBest = weight;
  }
  if (!best) return undefined;
  const { order } = best;
  return { difference: best, isFirst: !differences.some(one => one.weight > WEIGHT.passing && one.order < order) };
}
