import * as z from 'zod/mini';
import { INSTANT, parseInstant } from '../base/clock.ts';
import { unsafePath } from '../base/path.ts';
import { placeOf } from '../base/place.ts';

export type Shape = z.ZodMiniType;

/** A place where a value does not have its shape. The message continues the path: "is missing". */
export interface ShapeFault {
  readonly path: string;
  readonly message: string;
}

/** All faults of a value against a shape. */
export function shapeFaults(shape: Shape, value: unknown): ShapeFault[] {
  const result = shape.safeParse(value, { reportInput: true });
  if (result.success) return [];
  const issues = result.error.issues as readonly Issue[];
  // An object with a `length` is told by zod that it is no string, and then that it is too short for one.
  const mistyped = new Set(issues.filter(({ code }) => code === 'invalid_type').map(({ path }) => path.join('/')));
  return issues
    .filter(({ code, path }) => code === 'invalid_type' || mistyped.size === 0 || !mistyped.has(path.join('/')))
    .flatMap(issue => faultsOf(issue, ''));
}

// --- the words that shapes are written with -------------------------------------------------------------------------

/** An object. It may hold keys that the shape does not name: `unknownKeys` reports them, and the raw value keeps them. */
export const record = z.object;

/** A text of a certain form; `what` continues "must be". */
export function matching(pattern: RegExp, what: string) {
  return z.string().check(z.regex(pattern, { error: `must be ${what}` }));
}

export const filledText = () => z.string().check(z.minLength(1));

/** A text that is more than white space. */
export const wordyText = () => matching(/\S/, 'a text that is not blank');

export const instant = () =>
  matching(INSTANT, 'an instant in UTC such as 2026-01-06T12:00:00.000Z').check(
    z.refine(text => parseInstant(text) !== undefined || !INSTANT.test(text), {
      error: 'names a day or time that no calendar has',
    }),
  );

/** Any ISO 8601 instant with its offset, for documents whose contract asks for no more. */
export const isoTime = () =>
  matching(
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)$/,
    'an ISO 8601 instant such as 2026-01-06T12:00:00.000Z',
  ).check(
    z.refine(text => !/^\d{4}-/.test(text) || parseInstant(`${text.slice(0, 19)}Z`) !== undefined, {
      error: 'names a day or time that no calendar has',
    }),
  );

export const contentHashText = () => matching(/^sha256:[a-f0-9]{64}$/, 'sha256: and 64 hexadecimal digits');

export const semver = () => matching(SEMVER, 'a semantic version such as 1.2.3');

export const SEMVER = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/;

/** A whole number from 0 up. */
export const count = () => z.int().check(z.gte(0));

export function between(minimum: number, maximum: number) {
  return z.number().check(z.gte(minimum), z.lte(maximum));
}

/** A path that stays below the folder it is read from. */
export const relativePath = () =>
  z.string().check(
    z.superRefine((path, context) => {
      const reason = unsafePath(path);
      if (reason) context.addIssue({ code: 'custom', message: `must be a relative path, but ${reason}`, input: path });
    }),
  );

/** A JSON object whose keys are the program's own business. */
export const anyObject = () => z.record(z.string(), z.unknown());

// --- from zod's issues to sentences of ours -------------------------------------------------------------------------

interface Issue {
  readonly code: string;
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly input?: unknown;
  readonly expected?: string;
  readonly values?: readonly unknown[];
  readonly origin?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly errors?: readonly (readonly Issue[])[];
}

function faultsOf(issue: Issue, start: string): ShapeFault[] {
  const path = issue.path.reduce<string>(placeOf, start);
  if (issue.code === 'invalid_union' && issue.errors?.length) {
    const closest = [...issue.errors].sort((a, b) => distance(a) - distance(b))[0] ?? [];
    const alternatives = issue.errors.filter(errors => distance(errors) === distance(closest));
    if (alternatives.length === 1) return closest.flatMap(inner => faultsOf(inner, path));
  }
  return [{ path, message: sentence(issue) }];
}

/** How far a value is from one option of a union. A wrong tag is far: then another option was meant. */
function distance(issues: readonly Issue[]): number {
  return issues.reduce(
    (sum, { code, path }) => sum + (code === 'invalid_value' && path.length === 1 ? 1000 : path.length === 0 ? 100 : 1),
    0,
  );
}

function sentence(issue: Issue): string {
  const { code, input } = issue;
  if (input === undefined && code !== 'custom') return 'is missing';
  switch (code) {
    case 'invalid_type':
      return issue.expected === 'int' && typeof input === 'number'
        ? `must be a whole number, is ${input}`
        : `must be ${TYPES[issue.expected ?? ''] ?? issue.expected}, is ${kindOf(input)}`;
    case 'invalid_value':
      return issue.values?.length === 1
        ? `must be ${show(issue.values[0])}`
        : `must be one of ${issue.values?.map(show).join(', ')}`;
    case 'too_small':
      if (issue.origin === 'string') return 'must not be empty';
      if (issue.origin === 'array')
        return `must have at least ${issue.minimum} element${issue.minimum === 1 ? '' : 's'}`;
      return `must be at least ${issue.minimum}, is ${show(input)}`;
    case 'too_big':
      if (issue.origin === 'string') return `must be at most ${issue.maximum} characters long`;
      if (issue.origin === 'array') return `must have at most ${issue.maximum} elements`;
      return `must be at most ${issue.maximum}, is ${show(input)}`;
    case 'invalid_union':
      return `must have one of its known forms, is ${kindOf(input)}`;
    default:
      return issue.message;
  }
}

const TYPES: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
  null: 'null',
};

export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'number') return Number.isFinite(value) ? 'a number' : 'not finite';
  return TYPES[typeof value] === undefined || typeof value === 'boolean'
    ? `a ${typeof value}`
    : (TYPES[typeof value] as string);
}

function show(value: unknown): string {
  return typeof value === 'string' ? `"${value}"` : String(value);
}
