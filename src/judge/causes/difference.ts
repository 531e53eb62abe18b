import type { Divergence } from '../../contracts/comparison/index.ts';

/** One thing that two agents did differently. It says nothing about causes. */
export interface Difference {
  readonly kind: Divergence['kind'];
  readonly baselineAt: string | null;
  readonly newAt: string | null;
  /** A sentence without its full stop. */
  readonly says: string;
  /** A sentence for a difference that is a cause by itself, such as a tool error. */
  readonly plainly?: string;
  /** Its position among the baseline's steps: earlier differences may cause later ones. */
  readonly order: number;
  /** How significant it is; see WEIGHT. */
  readonly weight: (typeof WEIGHT)[keyof typeof WEIGHT];
  /** The highest confidence it can have. */
  readonly atMost?: 'medium' | 'low';
  /** The tools involved. */
  readonly tools?: readonly string[];
  /** True for something that happened to the agent; false for its own decision. */
  readonly isMet?: boolean;
  /** The output of a tool that failed. */
  readonly refusal?: string;
}

export const WEIGHT = {
  /** A different choice, different arguments with a different result, or a different result. */
  otherwise: 4,
  /** Something added or missing, or different arguments with the same result. */
  somewhat: 3,
  /** The same calls and results, but in another grouping or after a retry. */
  manner: 2,
  /** Only ids and times, or the ranks of documents. */
  passing: 1,
} as const;

/** The names of both sides in sentences; `is` begins a sentence. */
export interface Names {
  readonly was: string;
  readonly is: string;
}

/**
 * The difference that most likely led to the others: the first of those with the highest weight. `isFirst` is false if
 * another one with some weight precedes it.
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
