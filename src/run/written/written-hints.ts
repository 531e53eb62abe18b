import { nearestWord } from '../../base/nearest.ts';

/** What to write instead, for mistakes that the format invites; empty for others. */
export function yamlHint(line: string, says: string): string {
  if (/reserved character/.test(says)) return '; put the value in quotes, such as "@.name"';
  return UNQUOTED_PLACEHOLDER.test(line) ? '; put a value with ${…} in quotes, such as "${input.user}"' : '';
}

const UNQUOTED_PLACEHOLDER = /[:,[{]\s*(?:[^"'\s,{}[\]]+\s*)*\$\{/;

/** The message of a violation, with the word or the unit that is likely meant. */
export function hintedMessage(message: string, place: string, document: unknown): string {
  const value = valueAt(document, place);
  const [, listed] = /must be one of (.+)\.$/.exec(message) ?? [];
  if (listed !== undefined && typeof value === 'string') {
    const words = Array.from(listed.matchAll(/"([^"]+)"/g), ([, word]) => word as string);
    const near = nearestWord(value, words);
    return near === undefined ? message : `${message.slice(0, -1)} (did you mean ${JSON.stringify(near)}?).`;
  }
  const isTime = DURATION.test(place) && Number.isSafeInteger(value);
  return isTime ? `${place} needs a unit. Write ${String(value)}s for seconds.` : message;
}

/** Keys of durations. */
const DURATION = /(?:^|\.)(?:timeout|idle_timeout|within|every)$/;

/** The value at a place such as `reply.events[0].tool`. */
function valueAt(document: unknown, place: string): unknown {
  let value = document;
  for (const [name] of place.matchAll(/[^.[\]]+/g)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}
