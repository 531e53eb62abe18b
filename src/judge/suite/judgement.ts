import type { Assertion } from '../../contracts/evaluation/index.ts';
import type { Expected } from '../../contracts/suite/index.ts';
import type { Answer } from './answer.ts';

/** What was found of one thing that a case expects; the name is that of the expectation. */
export type Judgement = Omit<Assertion, 'name'>;

/** Judges one expectation by the answer alone: no clock, no chance, no world. */
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

/** One thing, or several that must all hold. */
export function all<Value>(value: Value | Value[]): readonly Value[] {
  return Array.isArray(value) ? value : [value];
}

/** Where the final output of an answer stands. */
export const OUTPUT = 'final_output.content';
