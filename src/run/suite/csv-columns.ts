import { readJson } from '../../base/json.ts';
import { printable } from '../../base/printable.ts';
import { clip } from '../../base/clip.ts';
import { expectedShape } from '../../contracts/suite/expected.ts';
import { suiteCase } from '../../contracts/suite/index.ts';
import type { WrittenWrong } from '../written/wrong.ts';
import type { Cell } from './csv.ts';

/** One column of a table of cases. */
export interface Column {
  /** Which cell of a row is in it, from 0. */
  readonly at: number;
  /** Where in a case it belongs, as `expected.regex`. */
  readonly place: string;
  readonly read: (text: string) => unknown;
}

/** Why a cell cannot be what its column asks for, in words that follow its place. */
export class Unreadable {
  readonly says: string;

  constructor(says: string) {
    this.says = says;
  }
}

/** The columns that a header names; those that are parts of another one come after it. */
export function columnsOf(header: readonly Cell[]): { columns: readonly Column[]; wrongs: readonly WrittenWrong[] } {
  const columns: Column[] = [];
  const wrongs: WrittenWrong[] = [];
  for (const [at, { text, line }] of header.entries()) {
    const name = text.trim();
    const place = ALSO.get(name) ?? name;
    const read = READERS.get(place);
    if (!read) wrongs.push({ line, says: `${columnWords(name, at)} is not one that this format knows` });
    else if (columns.some(column => column.place === place)) {
      wrongs.push({ line, says: `${columnWords(name, at)} is there already` });
    } else columns.push({ at, place, read });
  }
  if (wrongs.length === 0 && !columns.some(({ place }) => place === 'id')) {
    wrongs.push({ line: header[0]?.line, says: 'The header has no column id' });
  }
  return { columns: columns.sort((a, b) => a.place.length - b.place.length), wrongs };
}

function columnWords(name: string, at: number): string {
  return name === '' ? `Column ${at + 1}, which has no name,` : `The column ${printable(clip(name, 80).text)}`;
}

/** Shorter names that people may use. */
const ALSO: ReadonlyMap<string, string> = new Map([
  ['user', 'input.user'],
  ['context', 'input.context'],
]);

const asText = (text: string): string => text;

/** These take a number or a truth, so that is what digits are; to all others `42` is a text to look for. */
const PLAIN_VALUES: ReadonlySet<string> = new Set([
  'evidence_required_for_actions',
  'max_latency_ms',
  'max_cost_usd',
  'max_steps',
  'no_violations',
  'no_flags',
  'max_diff_lines',
]);

const READERS: ReadonlyMap<string, Column['read']> = new Map([
  ['id', asText],
  ['title', asText],
  ['suite', asText],
  ['input.user', asText],
  ['input.context', jsonOrText],
  ['metadata', jsonOnly],
  ['expected', jsonOnly],
  ...Object.keys(expectedShape.shape).map(
    key => [`expected.${key}`, PLAIN_VALUES.has(key) ? plainValue : listOrText] as const,
  ),
]);

/** Spreadsheets write TRUE and FALSE. */
function plainValue(text: string): unknown {
  return jsonOrText(/^(?:true|false)$/i.test(text) ? text.toLowerCase() : text);
}

function listOrText(text: string): unknown {
  return /^\s*[[{]/.test(text) ? jsonOrText(text) : text;
}

function jsonOrText(text: string): unknown {
  const reading = readJson(Buffer.from(text), LIMITS);
  if (reading.ok) return reading.value;
  // `[a-z]+` and an order number of thirty digits are texts; a key that stands twice is a slip in something meant as JSON.
  return SLIPS.has(reading.refusal.code) ? unreadable(reading.refusal.message) : text;
}

const SLIPS: ReadonlySet<string> = new Set([
  'too_large',
  'too_many_values',
  'too_deep',
  'duplicate_key',
  'lone_surrogate',
]);

function jsonOnly(text: string): unknown {
  const reading = readJson(Buffer.from(text), LIMITS);
  return reading.ok ? reading.value : unreadable(reading.refusal.message);
}

function unreadable(message: string): Unreadable {
  return new Unreadable(`cannot be read: ${message.replace(/\.$/, '')}`);
}

const LIMITS = { bytesMax: suiteCase.bytesMax };
