import * as z from 'zod/mini';
import { INSTANT, parseInstant } from '../base/clock.ts';
import { unsafePath } from '../base/path.ts';

/** Shapes are written with zod, for the types and the JSON Schemas; they are judged by `fits` and `shapeFaults`. */
export type Shape = z.ZodMiniType;

/** An object. It may hold keys that the shape does not name: `unknownKeys` reports them, and the raw value keeps them. */
export const record = z.object;

/** A text of a certain form; `what` continues "must be". */
export function matching(pattern: RegExp, what: string) {
  return z.string().check(z.regex(pattern, { error: `must be ${what}` }));
}

export const filledText = () => z.string().check(z.minLength(1));

/** A text that is more than white space. */
export const wordyText = () => matching(/\S/, 'a string that is not blank');

export const instant = () =>
  matching(INSTANT, 'an instant in UTC such as 2026-01-06T12:00:00.000Z').check(
    z.refine(text => parseInstant(text) !== undefined || !INSTANT.test(text), {
      error: 'names a day or time that no calendar has',
    }),
  );

/** Any ISO 8601 instant with its offset, for documents whose contract asks for no more. */
export const isoTime = () =>
  matching(
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-](?:0\d|1[0-4]):?[0-5]\d)$/,
    'an ISO 8601 instant such as 2026-01-06T12:00:00.000Z',
  ).check(
    z.refine(text => !/^\d{4}-/.test(text) || parseInstant(`${text.slice(0, 19)}Z`) !== undefined, {
      error: 'names a day or time that no calendar has',
    }),
  );

export const contentHashText = () => matching(/^sha256:[a-f0-9]{64}$/, 'sha256: and 64 hexadecimal digits');

/** Under which the internal log tells more. */
export const correlationText = () => matching(/^[a-z0-9]{12,32}$/, '12 to 32 lower-case letters and digits');

export const semver = () => matching(SEMVER, 'a semantic version such as 1.2.3');

/** As semver.org has it: no leading zeros in numbers, no empty identifiers. */
export const SEMVER = new RegExp(
  String.raw`^(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)` +
    String.raw`(?:-(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*)?` +
    String.raw`(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$`,
);

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
