/** The only place that asks what time it is, so that everything else can be told. */
export interface Clock {
  /** Milliseconds since 1970, for people and for records. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** An instant as every record writes it: ISO 8601, UTC, milliseconds. */
export function instantText(atMs: number): string {
  return new Date(atMs).toISOString();
}

/** ISO 8601 in UTC, seconds needed, up to three digits of fraction. */
export const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?Z$/;

/** Milliseconds since 1970, or undefined for a text that is no instant: 30 February is none, nor is 23:59:60. */
export function parseInstant(text: string): number | undefined {
  if (!INSTANT.test(text)) return undefined;
  const atMs = Date.parse(text);
  // Date.parse lets 30 February roll over into March; written back, it is another day.
  return Number.isNaN(atMs) || !instantText(atMs).startsWith(text.slice(0, 19)) ? undefined : atMs;
}
