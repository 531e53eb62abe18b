import { readJson } from '../../base/json.ts';
import { printable } from '../../base/printable.ts';
import { clip } from '../../base/clip.ts';
import { expectedShape } from '../../contracts/suite/expected.ts';
import { CODING_KEYS, type CodingKeys, suiteCase } from '../../contracts/suite/index.ts';
import type { WrittenWrong } from '../written/wrong.ts';
import type { CsvCell } from './csv.ts';

export interface Column {
  /** The index of its cell in a row, from 0. */
  readonly at: number;
  /** The path in a case, such as `expected.regex`. */
  readonly place: string;
  readonly read: (text: string) => unknown;
}

/** Why a cell does not fit its column. The message follows the cell's path. */
export class Unreadable {
  readonly says: string;

  constructor(says: string) {
    this.says = says;
  }
}

/** The columns of a header, sorted so that `expected` precedes `expected.regex`. */
export function columnsOf(header: readonly CsvCell[]): { columns: readonly Column[]; wrongs: readonly WrittenWrong[] } {
  const columns: Column[] = [];
  const wrongs: WrittenWrong[] = [];
  for (const [at, { text, line }] of header.entries()) {
    const name = text.trim();
    const place = ALSO.get(name) ?? name;
    const read = READERS.get(place);
    if (name === '') wrongs.push({ line, says: `Column ${at + 1} has no name` });
    else if (!read) wrongs.push({ line, says: `The column ${shown(name)} is unknown` });
    else if (columns.some(column => column.place === place)) {
      wrongs.push({ line, says: `The column ${shown(name)} is a duplicate` });
    } else columns.push({ at, place, read });
  }
  if (wrongs.length === 0 && !columns.some(({ place }) => place === 'id')) {
    wrongs.push({ line: header[0]?.line, says: 'The header has no id column' });
  }
  return { columns: columns.sort((a, b) => a.place.length - b.place.length), wrongs };
}

function shown(name: string): string {
  return printable(clip(name, 80).text);
}

const ALSO: ReadonlyMap<string, string> = new Map([
  ['user', 'input.user'],
  ['context', 'input.context'],
]);

const asText = (text: string): string => text;

/** Cells in these columns are numbers or booleans. In all other columns, `42` is text. */
const PLAIN_VALUES: ReadonlySet<string> = new Set([
  'evidence_required_for_actions',
  'max_latency_ms',
  'max_ttft_ms',
  'max_cost_usd',
  'max_steps',
  'no_violations',
  'no_flags',
  'max_diff_lines',
]);

/** Cells in these columns are lists or objects. In the other columns for agents, they are text. */
const CODING_READERS: Readonly<Partial<Record<keyof CodingKeys, Column['read']>>> = {
  setup: listOrText,
  mounts: jsonOnly,
  limits: jsonOnly,
  checks: jsonOnly,
};

const READERS: ReadonlyMap<string, Column['read']> = new Map([
  ['id', asText],
  ['title', asText],
  ['suite', asText],
  ['input.user', asText],
  ['input.context', jsonOrText],
  ['metadata', jsonOnly],
  ['expected', jsonOnly],
  ...CODING_KEYS.map(key => [key, CODING_READERS[key] ?? asText] as const),
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
  // `[a-z]+` and a 30-digit order number are text. A duplicate key shows that the cell was meant to be JSON.
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
