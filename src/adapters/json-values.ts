import { clip } from '../base/clip.ts';
import { type ClippedText, TEXT_BYTES_MAX } from '../contracts/agent-step/reading.ts';

/** A JSON object in an agent's stream. Check the type of every value before using it. */
export type StreamObject = Readonly<Record<string, unknown>>;

export function objectIn(value: unknown): StreamObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as StreamObject) : undefined;
}

export function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** A non-negative safe integer; null for anything else. */
export function countIn(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : null;
}

/** A finite, non-negative number; null for anything else. */
export function amountIn(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;
}

/** An HTTP status code; null for anything else. */
export function statusIn(value: unknown): number | null {
  const status = countIn(value);
  return status !== null && status >= 100 && status <= 599 ? status : null;
}

/** A name of up to 256 bytes, or null if it is missing or empty. */
export function nameIn(value: unknown): string | null {
  const text = textIn(value);
  return text === undefined || text === '' ? null : brief(text, NAME_BYTES_MAX);
}

const NAME_BYTES_MAX = 256;

/** Stands in for a missing name. */
export const UNNAMED = 'unnamed';

/** A path of up to 4 KiB, or undefined if it is missing or empty. */
export function pathIn(value: unknown): string | undefined {
  const text = textIn(value);
  return text === undefined || text === '' ? undefined : brief(text, PATH_BYTES_MAX);
}

const PATH_BYTES_MAX = 4096;

/** A text of up to 64 KiB, as the transcript stores it. */
export function clipped(text: string): ClippedText {
  const whole = wellFormed(text);
  // A code unit takes at most three bytes of UTF-8, so most texts need no exact count.
  if (whole.length * 3 <= TEXT_BYTES_MAX) return { text: whole };
  const { text: head, truncated, bytesTotal } = clip(whole, TEXT_BYTES_MAX);
  return truncated ? { text: head, bytes_total: bytesTotal } : { text: whole };
}

/** The beginning of a text, up to `bytesMax` bytes. */
export function brief(text: string, bytesMax: number = BRIEF_BYTES_MAX): string {
  const whole = wellFormed(text);
  return whole.length * 3 <= bytesMax ? whole : clip(whole, bytesMax).text;
}

const BRIEF_BYTES_MAX = 1024;

/** JSON can contain a lone surrogate, but UTF-8 cannot. */
function wellFormed(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed();
}

/** A value as JSON, or `null` if it is nested too deeply for JSON.stringify. */
export function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'null';
  } catch {
    return 'null';
  }
}
