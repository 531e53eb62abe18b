import * as z from 'zod/mini';
import { INSTANT, parseInstant } from '../base/clock.ts';
import { unsafePath } from '../base/path.ts';

/** zod provides types and JSON Schemas. `form.ts` does the checking. */
export type Shape = z.ZodMiniType;

/** An object. Extra keys are allowed; `check` reports them. */
export const record = z.object;

/** A string that matches a pattern; `what` follows "must be". */
export function matching(pattern: RegExp, what: string) {
  return z.string().check(z.regex(pattern, { error: `must be ${what}` }));
}

export const filledText = () => z.string().check(z.minLength(1));

export const wordyText = () => matching(/\S/, 'a string that is not blank');

export const instant = () =>
  matching(INSTANT, 'an instant in UTC such as 2026-01-06T12:00:00.000Z').check(
    z.refine(text => parseInstant(text) !== undefined || !INSTANT.test(text), {
      error: 'is not a valid date and time',
    }),
  );

/** Any ISO 8601 instant with an offset, for formats that do not require UTC. */
export const isoTime = () =>
  matching(
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-](?:0\d|1[0-4]):?[0-5]\d)$/,
    'an ISO 8601 instant such as 2026-01-06T12:00:00.000Z',
  ).check(
    z.refine(text => !/^\d{4}-/.test(text) || parseInstant(`${text.slice(0, 19)}Z`) !== undefined, {
      error: 'is not a valid date and time',
    }),
  );

export const contentHashText = () =>
  matching(/^sha256:[a-f0-9]{64}$/, 'sha256: followed by 64 lower-case hexadecimal digits');

/** The id that links a public error to the internal log. */
export const correlationText = () => matching(/^[a-z0-9]{12,32}$/, '12 to 32 lower-case letters and digits');

/** A machine-readable reason or kind. */
export const codeWord = () =>
  matching(/^[a-z][a-z0-9_]{0,63}$/, 'a word of lower-case letters, digits and underscores');

export const signalName = () => matching(/^SIG[A-Z0-9]+$/, 'the name of a signal such as SIGTERM');

export const variableName = () => matching(/^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of an environment variable');

export const semver = () => matching(SEMVER, 'a semantic version such as 1.2.3');

/** The grammar of semver.org: no leading zeros in numbers, no empty identifiers. */
export const SEMVER = new RegExp(
  String.raw`^(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)` +
    String.raw`(?:-(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*)?` +
    String.raw`(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$`,
);

/** A non-negative integer. */
export const count = () => z.int().check(z.gte(0));

export function between(minimum: number, maximum: number) {
  return z.number().check(z.gte(minimum), z.lte(maximum));
}

/** A path that stays inside its folder. */
export const relativePath = () =>
  z.string().check(
    z.superRefine((path, context) => {
      const reason = unsafePath(path);
      if (reason) context.addIssue({ code: 'custom', message: `must be a relative path, but ${reason}`, input: path });
    }),
  );

/** A JSON object with any keys. */
export const anyObject = () => z.record(z.string(), z.unknown());
