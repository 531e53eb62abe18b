import { isObject } from '../../contracts/kind.ts';

/** A part of a request that may differ between two otherwise equal runs. */
export interface Volatile {
  readonly what: string;
  readonly why: string;
  /** Matches in linear time: all repetitions and lookbehinds are limited. */
  readonly pattern: RegExp;
}

/**
 * Parts that may differ between otherwise equal runs and are therefore ignored. Applied to every text of a request, in
 * this order. A change in these parts goes unnoticed, so the list is as short as real agents allow.
 */
export const VOLATILE: readonly Volatile[] = [
  {
    what: 'commits',
    why: 'Claude sends the last commits of its clone to the model before the task. File contents are compared when the agent reads them.',
    pattern: /(?<=^Status:\n\(clean\)\n\nRecent commits:\n)(?:[0-9a-f]{7,40} .{0,4000}\n?){1,20}/gm,
  },
  {
    what: 'run',
    why: 'Every run has its own ID, which is part of its branch name.',
    pattern: /(?<![0-9A-Za-z])[a-z]{1,20}_\d{8}_\d{6}_[0-9a-f]{12}(?![0-9A-Za-z])/g,
  },
  {
    what: 'uuid',
    why: 'Both agents send random IDs for sessions, messages and calls.',
    pattern: /(?<![0-9A-Za-z])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![0-9A-Za-z])/g,
  },
  {
    what: 'id',
    why: 'Codex assigns random IDs to command output and to running commands.',
    pattern: /(?<=\b(?:Chunk|session) ID:? )[0-9a-f]{1,12}\b/g,
  },
  {
    what: 'temporary',
    why: 'Tools such as mktemp create random names.',
    pattern: /(?<=\/)tmp\.?[A-Za-z0-9_]{6,12}(?![0-9A-Za-z_])/g,
  },
  {
    what: 'instant',
    why: 'Agents send the date to the model, and tools print the time.',
    pattern: /\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?)?(?![\d-])/g,
  },
  {
    what: 'instant',
    why: 'Tools such as ls, git and date print times with month names.',
    pattern:
      /\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) {1,2}\d{1,2} (?:\d\d:\d\d(?::\d\d)?(?: [A-Z]{3,4})?(?: \d{4})?(?: [+-]\d{4})?| ?\d{4})(?!\d)/g,
  },
  {
    what: 'hash',
    why: "A commit's hash depends on its time. Claude's device ID has the same format.",
    pattern: /(?<![0-9A-Za-z])(?=[a-f]{0,64}\d)(?=\d{0,64}[a-f])[0-9a-f]{7,64}(?![0-9A-Za-z])/g,
  },
  {
    what: 'hash',
    why: 'One in thirty short hashes consists of digits only. Its position in the output of git log and git commit distinguishes it from a number.',
    pattern: /(?:^|(?<=\[[^\]\n]{1,200} ))[0-9a-f]{7,40}(?= \S|\])/gm,
  },
  {
    what: 'duration',
    why: 'Tools print how long they took.',
    pattern: /\b\d{1,12}(?:\.\d{1,12})? ?(?:ns|µs|us|ms|s|sec|secs|seconds?|minutes?)\b/g,
  },
  {
    what: 'port',
    why: 'The port of the model proxy may change between runs.',
    pattern: /(?<=\b(?:127\.0\.0\.1|localhost):)\d{1,5}\b/g,
  },
];

/** Members of a request body that the model does not see. */
export const UNSEEN: readonly { readonly key: string; readonly why: string }[] = [
  {
    key: 'client_metadata',
    why: 'Codex sends metadata about itself. It collects some of it in the background and sends what is available.',
  },
];

/** A body for comparison: without unseen members, and with volatile parts replaced. */
export function settledBody(body: unknown): unknown {
  if (!isObject(body)) return settled(body);
  return settled(Object.fromEntries(Object.entries(body).filter(([key]) => UNSEEN.every(one => one.key !== key))));
}

/** Replaces every volatile part with its name. */
export function settledText(text: string): string {
  return VOLATILE.reduce((settled, { what, pattern }) => settled.replace(pattern, `<${what}>`), text);
}

export function settled(value: unknown): unknown {
  if (typeof value === 'string') return settledText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(settled);
  // Keeps `__proto__` as an ordinary key.
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, settled(member)]));
}
