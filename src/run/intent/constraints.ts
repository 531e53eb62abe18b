import type { Intent, LIMIT_NAMES } from '../../contracts/intent/index.ts';
import { type Opposite, oppositesIn } from './opposites.ts';
import { fileCountIn } from './quantities.ts';
import { quotedText } from './words.ts';

/** Two statements in an intent that contradict each other. */
export interface Contradiction {
  readonly index: number;
  /** The path in the intent that contradicts `constraints[index]`. */
  readonly against: string;
  readonly because: string;
  /** A limit that would satisfy the constraint, if there is one. */
  readonly limit?: { readonly name: LimitName; readonly value: number };
}

type LimitName = (typeof LIMIT_NAMES)[number];

/** Constraints that contradict a limit, the outputs, the network, or each other. An intent may have a million. */
export function contradictionsIn(intent: Intent): Contradiction[] {
  const found: Contradiction[] = [];
  const { constraints = [], outputs = [], limits, network } = intent;
  const isBounded = limits !== undefined || outputs.length > 0;
  const contested = contestedIn(constraints);
  const said = new Map<string, number>();
  const opposites = oppositesIn(constraints);
  let next = 0;
  for (const [index, text] of constraints.entries()) {
    if (found.length >= CONTRADICTIONS_MAX) break;
    if (network === true && NO_NETWORK.test(text))
      found.push({ index, against: 'network', because: 'the constraint forbids the network, and network asks for it' });
    const [, bound, unit = ''] = (isBounded && AT_MOST.exec(text)) || [];
    if (bound !== undefined) found.push(...againstLimits(Number(bound), unit.toLowerCase(), index, intent));
    else if (outputs.length > 1) found.push(...againstOutputs(text, index, outputs));
    const opposite = contested.size > 0 ? oppositeOf(text, index, contested, said) : undefined;
    if (opposite !== undefined) found.push(ofPair(constraints, index, opposite, 'one says must, the other must not'));
    for (; opposites[next]?.index === index; next++) {
      const { earlier, because } = opposites[next] as Opposite;
      if (earlier !== opposite) found.push(ofPair(constraints, index, earlier, because));
    }
  }
  return found;
}

function ofPair(constraints: readonly string[], index: number, earlier: number, because: string): Contradiction {
  const texts = [earlier, index].map(at => quotedText(constraints[at] ?? ''));
  return { index, against: `constraints[${earlier}]`, because: `${texts.join(' and ')}, because ${because}` };
}

/** `a single file`, although there are several outputs. A folder counts as any number of files. */
function againstOutputs(text: string, index: number, outputs: readonly string[]): Contradiction[] {
  const max = fileCountIn(text)?.max ?? Infinity;
  const because = `the constraint says at most ${max}, and there are ${outputs.length}`;
  return outputs.length > max ? [{ index, against: 'outputs', because }] : [];
}

/**
 * What one constraint requires and another forbids. Stores only the shorter side, and nothing if one side is empty,
 * because few of a million constraints conflict.
 */
function contestedIn(constraints: readonly string[]): ReadonlySet<string> {
  const contested = new Set<string>();
  const denying = constraints.filter(text => MUST_NOT.test(text));
  if (denying.length === 0) return contested;
  const asking = constraints.filter(text => MUST.test(text) && !MUST_NOT.test(text));
  if (asking.length === 0) return contested;
  const [few, many] = denying.length < asking.length ? [denying, asking] : [asking, denying];
  const known = new Set(few.map(text => saidIn(text)?.what));
  for (const text of many) {
    const what = saidIn(text)?.what;
    if (what !== undefined && known.has(what)) contested.add(what);
  }
  return contested;
}

/**
 * The earlier constraint that says the opposite. `said` maps each subject to its first constraint: `index` if required,
 * `~index` if forbidden.
 */
function oppositeOf(
  text: string,
  index: number,
  contested: ReadonlySet<string>,
  said: Map<string, number>,
): number | undefined {
  const { what, isDenied } = saidIn(text) ?? {};
  if (what === undefined || !contested.has(what)) return undefined;
  const mine = isDenied ? ~index : index;
  const first = said.get(what);
  if (first === undefined) said.set(what, mine);
  else if (first < 0 !== mine < 0) return Math.max(first, ~first);
  return undefined;
}

/** What a constraint requires or forbids. */
function saidIn(text: string): { readonly what: string; readonly isDenied: boolean } | undefined {
  const [, not, rest] = MUST.exec(text) ?? [];
  return rest === undefined ? undefined : { what: withoutStops(rest.toLowerCase()), isDenied: not !== undefined };
}

/** Not a regular expression: one anchored at the end would be tried at every position. */
function withoutStops(text: string): string {
  let end = text.length;
  while (end > 0 && (text[end - 1] === '.' || text[end - 1]?.trim() === '')) end--;
  return text.slice(0, end);
}

function againstLimits(bound: number, unit: string, index: number, { limits = {}, outputs = [] }: Intent) {
  const [name, factor] = UNITS.get(unit) ?? (['timeout_ms', 1_000] as const);
  const value = bound * factor;
  const declared = limits[name];
  const found: Contradiction[] = [];
  if (declared !== undefined && declared > value)
    found.push({
      index,
      against: `limits.${name}`,
      because: `the constraint says at most ${value}, the limit ${declared}`,
      limit: { name, value },
    });
  if (name === 'max_output_files' && outputs.length > value)
    found.push({
      index,
      against: 'outputs',
      because: `the constraint says at most ${value}, and there are ${outputs.length}`,
    });
  return found;
}

/** Unit words, each with its limit and its factor. The only other units that `AT_MOST` matches are seconds. */
const UNITS: ReadonlyMap<string, readonly [name: LimitName, factor: number]> = new Map(
  (
    [
      ['timeout_ms', 1, 'ms, millisecond, milliseconds'],
      ['timeout_ms', 60_000, 'm, min, mins, minute, minutes'],
      ['max_output_files', 1, 'file, files, output file, output files'],
      ['max_total_output_bytes', 1, 'byte, bytes'],
      ['max_total_output_bytes', 1_000, 'kb'],
      ['max_total_output_bytes', 1_024, 'kib'],
      ['max_total_output_bytes', 1_000_000, 'mb'],
      ['max_total_output_bytes', 1_048_576, 'mib'],
      ['max_total_output_bytes', 1_000_000_000, 'gb'],
      ['max_total_output_bytes', 1_073_741_824, 'gib'],
    ] as const
  ).flatMap(([name, factor, words]) => words.split(', ').map(word => [word, [name, factor]] as const)),
);

/** `within 20 seconds`, `at most 3 files`, `no more than 10 MB`. */
const AT_MOST =
  /\b(?:within|at most|no more than|not more than|under|less than|max(?:imum)?(?: of)?|timeout(?: of|:)?|up to)\s{1,8}(\d{1,12})\s{0,8}(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|(?:output )?files?|bytes?|kb|kib|mb|mib|gb|gib)\b/i;

const NO_NETWORK = /\b(?:no|without|not use the|never use the)\s{1,8}network\b|\boffline\b/i;

const MUST = /^\s{0,100}must\s{1,8}(not\s{1,8})?(.{1,500})$/is;
const MUST_NOT = /^\s{0,100}must\s{1,8}not\s{1,8}.{1,500}$/is;

const CONTRADICTIONS_MAX = 100;
