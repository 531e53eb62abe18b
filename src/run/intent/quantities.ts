/** A range. */
export interface Quantity {
  readonly min: number;
  readonly max: number;
}

/** The quantity in a constraint: `retry at most 3 times`. The text is lower case, without articles. */
export function quantityIn(text: string): (Quantity & { readonly of: string }) | undefined {
  const { before = '', how = '', number = '', what } = QUANTITY.exec(text)?.groups ?? {};
  const count = numberOf(number);
  if (what === undefined || count === undefined) return undefined;
  const of = `${before.replace(/\b(?:must|shall|should|always)\s/g, '').trim()} | ${what.replace(/s\b/g, '')}`;
  return { of, ...boundsOf(how, count) };
}

const QUANTITY =
  /^(?<before>.{0,80}?)\b(?<how>at least|at most|no more than|not more than|no fewer than|no less than|exactly|up to|within)\s(?<number>\d{1,9}|[a-z]{3,5})\s(?<what>.{1,100})$/;

function boundsOf(how: string, count: number): Quantity {
  if (how === 'exactly') return { min: count, max: count };
  if (how === 'at least' || how === 'no fewer than' || how === 'no less than') return { min: count, max: Infinity };
  return { min: 0, max: count };
}

const NUMBERS = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];

function numberOf(word: string): number | undefined {
  if (/^\d+$/.test(word)) return Number(word);
  const number = NUMBERS.indexOf(word.toLowerCase());
  return number < 0 ? undefined : number;
}

/** How many output files are allowed, and which names. */
export interface FileCount extends Quantity {
  readonly names: readonly string[];
  /** Whether it describes an output, or adds one. */
  readonly isAdded: boolean;
}

/** What a constraint says about output files: `Output must be a single runbook.md file`, `must write two files`. */
export function fileCountIn(text: string): FileCount | undefined {
  if (!MAKES.test(text)) return undefined;
  const names = [...new Set([...text.matchAll(FILE_NAME)].slice(0, NAMES_MAX).map(([name]) => name.toLowerCase()))];
  const isAdded = /\b(?:also|outputs?)\b/i.test(text);
  if (SINGLE.test(text)) return { min: 1, max: 1, names, isAdded };
  const { how = 'exactly', number = '' } = FILES.exec(text)?.groups ?? {};
  const count = numberOf(number);
  if (count !== undefined) return { ...boundsOf(how.toLowerCase(), count), names, isAdded };
  return names.length > 0 ? { min: isAdded ? names.length : 0, max: Infinity, names, isAdded } : undefined;
}

const MAKES = /\b(?:outputs?|writes?|produces?|creates?|generates?|emits?|delivers?)\b/i;
const SINGLE = /\b(?:a single|one single|only one|exactly one|just one)\s(?:[\w.-]{1,80}\s){0,2}file\b/i;
const FILES =
  /(?:\b(?<how>at least|at most|no more than|not more than|no fewer than|exactly|up to)\s)?\b(?<number>\d{1,6}|two|three|four|five|six|seven|eight|nine|ten)\s(?:[\w.-]{1,80}\s){0,2}files\b/i;
const FILE_NAME = /\b[\w-]{1,64}\.(?:md|txt|json|ya?ml|csv|html?|xml|toml|pdf|log|sql|sh|py|[cm]?[jt]s)\b/gi;
const NAMES_MAX = 20;
