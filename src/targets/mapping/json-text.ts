import { JSON_DEPTH_MAX } from '../../base/json-refusal.ts';
import { readJson } from '../../base/json.ts';

/** A value as text: a string as it is, anything else as JSON; undefined if it is nested too deeply. */
export function textOfValue(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return isDeeperThan(JSON_DEPTH_MAX, value) ? undefined : JSON.stringify(value);
}

function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some(child => isDeeperThan(levels - 1, child));
}

/** The value in a JSON text. A text that is not strict JSON stays a text; a blank one is undefined. */
export function parsedText(text: unknown): unknown {
  if (typeof text !== 'string') return text;
  if (!/\S/.test(text)) return undefined;
  const reading = readJson(Buffer.from(text), { bytesMax: TEXT_BYTES_MAX });
  return reading.ok ? reading.value : text;
}

const TEXT_BYTES_MAX = 16 * 1024 * 1024;

/** All texts, joined; undefined if there are none. Null is skipped. */
export function joinedTexts(values: readonly unknown[], separator: string): string | undefined {
  const texts: string[] = [];
  for (const value of values) {
    const text = value === null ? undefined : textOfValue(value);
    if (text !== undefined) texts.push(text);
  }
  return texts.length === 0 ? undefined : texts.join(separator);
}

/** The size of a value in steps: one per nested value, and one per 10 characters. */
export function weightOf(value: unknown): number {
  let weight = 0;
  const open = [value];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    weight += typeof at === 'string' ? 1 + at.length / CHARACTERS_PER_STEP : 1;
    if (typeof at === 'object' && at !== null) for (const child of Object.values(at)) open.push(child);
  }
  return Math.ceil(weight);
}

export const CHARACTERS_PER_STEP = 10;
