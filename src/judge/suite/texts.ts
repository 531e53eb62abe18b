import { canonicalize } from '../../base/canonical.ts';
import { folded } from './folded.ts';
import { all, fails, holds, type Judge, type Judgement, OUTPUT } from './judgement.ts';
import { patternOf } from './patterns.ts';
import { quoting } from './sentence.ts';

export const contains: Judge<'contains'> = (expected, { text }) =>
  all(expected).map(part => found(text.includes(part), part));

export const notContains: Judge<'not_contains'> = (expected, { text }) =>
  all(expected).map(part => absent(!text.includes(part), part));

export const mustInclude: Judge<'must_include'> = (expected, answer) =>
  all(expected).map(part => found(answer.folded.includes(folded(part)), part));

export const mustNotInclude: Judge<'must_not_include'> = (expected, answer) =>
  all(expected).map(part => absent(!answer.folded.includes(folded(part)), part));

export const regex: Judge<'regex'> = function* (expected, { text, effort }) {
  for (const pattern of all(expected)) {
    yield patternOf(pattern, effort).test(text, effort)
      ? holds(OUTPUT)
      : fails(
          quoting(pattern, quoted => `The answer does not match ${quoted}.`),
          OUTPUT,
        );
  }
};

export const notRegex: Judge<'not_regex'> = function* (expected, { text, effort }) {
  for (const pattern of all(expected)) {
    yield patternOf(pattern, effort).test(text, effort)
      ? fails(
          quoting(pattern, quoted => `The answer matches ${quoted}.`),
          OUTPUT,
        )
      : holds(OUTPUT);
  }
};

/** Compares text literally, and an object as JSON, in which key order does not matter. */
export const equals: Judge<'equals'> = (expected, answer) => {
  if (typeof expected === 'string') {
    return [answer.text === expected ? holds(OUTPUT) : fails('The answer differs from the expected text.', OUTPUT)];
  }
  if (!answer.json.ok) return [fails('The answer is not JSON, but an object was expected.', OUTPUT)];
  const isEqual = canonicalize(answer.json.value) === canonicalize(expected);
  return [isEqual ? holds(OUTPUT) : fails('The answer differs from the expected JSON value.', OUTPUT)];
};

function found(isFound: boolean, part: string): Judgement {
  if (isFound) return holds(OUTPUT);
  return fails(
    quoting(part, quoted => `The answer does not contain ${quoted}.`),
    OUTPUT,
  );
}

function absent(isAbsent: boolean, part: string): Judgement {
  if (isAbsent) return holds(OUTPUT);
  return fails(
    quoting(part, quoted => `The answer contains ${quoted}.`),
    OUTPUT,
  );
}
