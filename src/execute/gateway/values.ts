/** A count in an answer: a whole number from 0 up, or undefined where it is anything else. */
export function countIn(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}

/** A name in an answer, if it has a length that a name may have. */
export function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value.length > 0 && value.length <= NAME_UNITS_MAX ? value : undefined;
}

const NAME_UNITS_MAX = 200;

/** The parts of a total. A part that was not told is taken for 0, and one that exceeds its total is not believed. */
export function restOf(total: number | undefined, ...parts: readonly (number | undefined)[]): number | undefined {
  if (total === undefined) return undefined;
  return Math.max(
    0,
    parts.reduce<number>((left, part) => left - (part ?? 0), total),
  );
}
