/** The source of the current time, which tests can replace. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** An instant in the format of all records: ISO 8601, UTC, milliseconds. */
export function instantText(atMs: number): string {
  // Many calls fall into the same millisecond, so the last result is cached.
  if (atMs !== lastMs) {
    lastText = new Date(atMs).toISOString();
    lastMs = atMs;
  }
  return lastText;
}

let lastMs = Number.NaN;
let lastText = '';

/** ISO 8601 in UTC, with seconds and up to three fractional digits. */
export const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?Z$/;

/** Milliseconds since 1970; undefined for an invalid instant, such as 30 February or 23:59:60. */
export function parseInstant(text: string): number | undefined {
  if (!INSTANT.test(text)) return undefined;
  const month = digits(text, 5);
  const day = digits(text, 8);
  const hour = digits(text, 11);
  const minute = digits(text, 14);
  const second = digits(text, 17);
  const year = digits(text, 0) * 100 + digits(text, 2);
  if (month < 1 || month > 12 || day < 1 || day > daysIn(month, year)) return undefined;
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  const ms = text.length === 20 ? 0 : Number(text.slice(19, -1)) * 1000;
  return EPOCH_OFFSET + Date.UTC(year + 400, month - 1, day, hour, minute, second) + Math.round(ms);
}

function daysIn(month: number, year: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

function digits(text: string, at: number): number {
  return (text.charCodeAt(at) - 0x30) * 10 + text.charCodeAt(at + 1) - 0x30;
}

/** Date.UTC maps the years 0 to 99 to 1900 to 1999. The calendar repeats every 400 years, so 400 are added and subtracted. */
const EPOCH_OFFSET = -146_097 * 86_400_000;

/** Milliseconds of a clock that never goes back, for waits and durations. */
export function monotonicMs(): number {
  return performance.now();
}
