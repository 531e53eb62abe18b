import type { ZodCheck } from './definition.ts';

/** A test for one zod check. Frequent checks are implemented here; the rest call zod. */
export function checkTest(check: ZodCheck): (value: unknown) => boolean {
  const { check: name, pattern, minimum = 0, value: bound = 0, inclusive, fn } = check._zod.def;
  if (name === 'string_format' && pattern && !pattern.global) return value => pattern.test(value as string);
  if (name === 'min_length') return value => (value as { length: number }).length >= minimum;
  if (name === 'greater_than') return value => (inclusive ? (value as number) >= bound : (value as number) > bound);
  if (name === 'less_than') return value => (inclusive ? (value as number) <= bound : (value as number) < bound);
  if (name === 'custom' && fn) return value => Boolean(fn(value));
  return value => checkFault(check, value) === undefined;
}

/** Why a value fails a check, as text that follows its path; undefined if it passes. */
export function checkFault(check: ZodCheck, value: unknown): string | undefined {
  const { check: name, pattern, minimum = 0, maximum = 0, value: bound = 0, inclusive, error } = check._zod.def;
  const size = (value as { length?: number }).length ?? 0;
  const isText = typeof value === 'string';
  const number = value as number;
  switch (name) {
    case 'string_format':
      return pattern?.test(value as string) ? undefined : (error?.({}) ?? 'has the wrong format');
    case 'min_length':
      if (size >= minimum) return undefined;
      return isText ? 'must not be empty' : `must have at least ${minimum} element${minimum === 1 ? '' : 's'}`;
    case 'max_length':
      if (size <= maximum) return undefined;
      return `must have at most ${maximum} ${isText ? 'characters' : 'elements'}`;
    case 'greater_than':
      if (inclusive ? number >= bound : number > bound) return undefined;
      return `must be ${inclusive ? 'at least' : 'above'} ${bound}, but is ${number}`;
    case 'less_than':
      if (inclusive ? number <= bound : number < bound) return undefined;
      return `must be ${inclusive ? 'at most' : 'below'} ${bound}, but is ${number}`;
    default: {
      const payload: { value: unknown; issues: { message?: string }[] } = { value, issues: [] };
      check._zod.check(payload);
      const [issue] = payload.issues;
      return issue && (issue.message ?? error?.({}) ?? 'has the wrong format');
    }
  }
}
