import { isObject } from '../contracts/kind.ts';

/** Something in a request that may differ between two equal runs. */
export interface Volatile {
  readonly what: string;
  readonly why: string;
  /** Linear: every repetition is bounded, and whatever it looks back to is bounded, too. */
  readonly pattern: RegExp;
}

/**
 * What two equal runs may say differently, and so is taken for the same. It is looked for in every text of a request, in
 * this order. Whatever is in this list can change without being noticed, so it is as short as real agents allow.
 */
export const VOLATILE: readonly Volatile[] = [
  {
    what: 'commits',
    why: 'Claude tells its model the last commits of its clone before the task. What they changed is compared where it is read.',
    pattern: /(?<=^Status:\n\(clean\)\n\nRecent commits:\n)(?:[0-9a-f]{7,40} .{0,4000}\n?){1,20}/gm,
  },
  {
    what: 'run',
    why: 'Every run has an id of its own, by which its branch is called.',
    pattern: /(?<![0-9A-Za-z])[a-z]{1,20}_\d{8}_\d{6}_[0-9a-f]{12}(?![0-9A-Za-z])/g,
  },
  {
    what: 'uuid',
    why: 'Sessions, messages and calls have random ids, which both agents send along.',
    pattern: /(?<![0-9A-Za-z])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![0-9A-Za-z])/g,
  },
  {
    what: 'id',
    why: 'Codex gives random ids to the output of a command and to one that goes on.',
    pattern: /(?<=\b(?:Chunk|session) ID:? )[0-9a-f]{1,12}\b/g,
  },
  {
    what: 'temporary',
    why: 'Names that mktemp and its relatives make up.',
    pattern: /(?<=\/)tmp\.?[A-Za-z0-9_]{6,12}(?![0-9A-Za-z_])/g,
  },
  {
    what: 'instant',
    why: 'Agents tell their model the date, and tools the time.',
    pattern: /\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?)?(?![\d-])/g,
  },
  {
    what: 'instant',
    why: 'Tools such as ls, git and date write instants in words.',
    pattern:
      /\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) {1,2}\d{1,2} (?:\d\d:\d\d(?::\d\d)?(?: [A-Z]{3,4})?(?: \d{4})?(?: [+-]\d{4})?| ?\d{4})(?!\d)/g,
  },
  {
    what: 'hash',
    why: 'A commit has the time at which it was made in its hash. The device id of Claude looks like one, too.',
    pattern: /(?<![0-9A-Za-z])(?=[a-f]{0,64}\d)(?=\d{0,64}[a-f])[0-9a-f]{7,64}(?![0-9A-Za-z])/g,
  },
  {
    what: 'hash',
    why: 'One in thirty short hashes has digits alone. It is told from a number by its place, as git log and git commit write it.',
    pattern: /(?:^|(?<=\[[^\]\n]{1,200} ))[0-9a-f]{7,40}(?= \S|\])/gm,
  },
  {
    what: 'duration',
    why: 'Tools say how long they took.',
    pattern: /\b\d{1,12}(?:\.\d{1,12})? ?(?:ns|µs|us|ms|s|sec|secs|seconds?|minutes?)\b/g,
  },
  {
    what: 'port',
    why: 'The door may have another port each time.',
    pattern: /(?<=\b(?:127\.0\.0\.1|localhost):)\d{1,5}\b/g,
  },
];

/** Members of a request's body that no model gets to see. */
export const UNSEEN: readonly { readonly key: string; readonly why: string }[] = [
  {
    key: 'client_metadata',
    why: 'Codex tells its API about itself. It finds some of that out in the background, and sends what it has by then.',
  },
];

/** A body as it is compared: without what no model sees, and with everything volatile replaced by what it is. */
export function settledBody(body: unknown): unknown {
  if (!isObject(body)) return settled(body);
  return settled(Object.fromEntries(Object.entries(body).filter(([key]) => UNSEEN.every(one => one.key !== key))));
}

/** A text with everything volatile replaced by what it is. */
export function settledText(text: string): string {
  return VOLATILE.reduce((settled, { what, pattern }) => settled.replace(pattern, `<${what}>`), text);
}

/** The same of every text in a value that was read from JSON. */
export function settled(value: unknown): unknown {
  if (typeof value === 'string') return settledText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(settled);
  // A key `__proto__` must stay a key.
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, settled(member)]));
}
