/** The set of whitespace-separated words in a text. */
export function wordsIn(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}

/** A count in an answer: a non-negative integer, or undefined. */
export function tokenCount(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}

/** A name of 1 to 200 characters in an answer, or undefined. */
export function shortTextIn(value: unknown): string | undefined {
  return typeof value === 'string' && value.length > 0 && value.length <= NAME_UNITS_MAX ? value : undefined;
}

const NAME_UNITS_MAX = 200;

/** A total minus its parts, at least 0. A missing part counts as 0. */
export function restOf(total: number | undefined, ...parts: readonly (number | undefined)[]): number | undefined {
  if (total === undefined) return undefined;
  return Math.max(
    0,
    parts.reduce<number>((left, part) => left - (part ?? 0), total),
  );
}
