import { clip } from '../base/clip.ts';
import { type Clipped, TEXT_BYTES_MAX } from '../contracts/agent-step/reading.ts';

/** A JSON object of an agent's stream. Nothing is known of it, so every key is looked at before it is believed. */
export type Said = Readonly<Record<string, unknown>>;

export function objectIn(value: unknown): Said | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Said) : undefined;
}

export function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** An integer that a document of ours can hold; null for anything else, as for 1e999. */
export function countIn(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : null;
}

/** A sum of money; null for anything else. */
export function amountIn(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;
}

/** The status of an HTTP answer. */
export function statusIn(value: unknown): number | null {
  const status = countIn(value);
  return status !== null && status >= 100 && status <= 599 ? status : null;
}

/** A text as a line of the transcript holds it. */
export function clipped(text: string): Clipped {
  const whole = wellFormed(text);
  // No code unit takes more than three bytes, so most texts need no count.
  if (whole.length * 3 <= TEXT_BYTES_MAX) return { text: whole };
  const { text: head, truncated, bytesTotal } = clip(whole, TEXT_BYTES_MAX);
  return truncated ? { text: head, bytes_total: bytesTotal } : { text: whole };
}

/** A name, a path or a sentence: the head of it, and nothing is said of the rest. */
export function brief(text: string, bytesMax: number = BRIEF_BYTES_MAX): string {
  const whole = wellFormed(text);
  return whole.length * 3 <= bytesMax ? whole : clip(whole, bytesMax).text;
}

const BRIEF_BYTES_MAX = 1024;

/** Half a surrogate pair can stand in JSON, and not in UTF-8. */
function wellFormed(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed();
}

/** A value as JSON. One that is nested too deep for JSON.stringify, which is recursive, is not shown. */
export function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'null';
  } catch {
    return 'null';
  }
}
