import type { Assertion } from '../../contracts/evaluation/index.ts';
import type { Expected } from '../../contracts/suite/index.ts';
import type { Answer } from './answer.ts';

/** The result for one expectation, under the expectation's name. */
export type Judgement = Omit<Assertion, 'name'>;

/** Judges one expectation from the answer alone: without clock, randomness or I/O. */
export type Judge<Key extends keyof Expected> = (
  expected: NonNullable<Expected[Key]>,
  answer: Answer,
) => Iterable<Judgement>;

export function holds(at: string | null): Judgement {
  return { status: 'pass', message: null, at };
}

export function fails(message: string, at: string | null): Judgement {
  return { status: 'fail', message, at };
}

export function notJudged(message: string): Judgement {
  return { status: 'not_judged', message, at: null };
}

/** One expected value, or several that all apply. */
export function all<Value>(value: Value | Value[]): readonly Value[] {
  return Array.isArray(value) ? value : [value];
}

/** The location of the final output. */
export const OUTPUT = 'final_output.content';
