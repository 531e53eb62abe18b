import type { Intent, LIMIT_NAMES } from '../../contracts/intent/index.ts';

/** Two things that an intent says and that cannot both hold. */
export interface Contradiction {
  readonly index: number;
  /** What stands against `constraints[index]`: a place in the intent. */
  readonly against: string;
  readonly because: string;
  /** The limit that would keep the constraint, where one would. */
  readonly limit?: { readonly name: LimitName; readonly value: number };
}

type LimitName = (typeof LIMIT_NAMES)[number];

/** Constraints that contradict a declared limit, the outputs, the network, or each other. */
export function contradictionsIn(intent: Intent): Contradiction[] {
  const found: Contradiction[] = [];
  const said = new Map<string, { index: number; isDenied: boolean }>();
  for (const [index, text] of (intent.constraints ?? []).entries()) {
    if (found.length >= CONTRADICTIONS_MAX) break;
    found.push(...againstLimits(text, index, intent));
    const [, not, rest] = MUST.exec(text) ?? [];
    if (rest === undefined) continue;
    const what = rest.toLowerCase().replace(/[.\s]+$/, '');
    const earlier = said.get(what);
    const isDenied = not !== undefined;
    if (!earlier) said.set(what, { index, isDenied });
    else if (earlier.isDenied !== isDenied)
      found.push({ index, against: `constraints[${earlier.index}]`, because: 'one says must, the other must not' });
  }
  return found;
}

function* againstLimits(text: string, index: number, { limits = {}, outputs = [], network }: Intent) {
  if (network === true && NO_NETWORK.test(text))
    yield { index, against: 'network', because: 'the constraint forbids the network, and network asks for it' };
  const [, bound = '', unit = ''] = AT_MOST.exec(text) ?? [];
  if (bound === '') return;
  const { name, value } = limitOf(Number(bound), unit.toLowerCase());
  const declared = limits[name];
  if (declared !== undefined && declared > value)
    yield {
      index,
      against: `limits.${name}`,
      because: `the constraint says at most ${value}, the limit ${declared}`,
      limit: { name, value },
    };
  if (name === 'max_output_files' && outputs.length > value)
    yield {
      index,
      against: 'outputs',
      because: `the constraint says at most ${value}, and there are ${outputs.length}`,
    };
}

/** In the units of the limits. */
function limitOf(bound: number, unit: string): { name: LimitName; value: number } {
  if (/^(?:output )?file/.test(unit)) return { name: 'max_output_files', value: bound };
  const size = SIZES.find(([word]) => word.test(unit));
  if (size) return { name: 'max_total_output_bytes', value: bound * size[1] };
  const [, factor = 1_000] = TIMES.find(([word]) => word.test(unit)) ?? [];
  return { name: 'timeout_ms', value: bound * factor };
}

const SIZES: readonly (readonly [RegExp, number])[] = [
  [/^bytes?$/, 1],
  [/^kb$/, 1_000],
  [/^kib$/, 1_024],
  [/^mb$/, 1_000_000],
  [/^mib$/, 1_048_576],
  [/^gb$/, 1_000_000_000],
  [/^gib$/, 1_073_741_824],
];

const TIMES: readonly (readonly [RegExp, number])[] = [
  [/^(?:ms|milli)/, 1],
  [/^m(?:in|$)/, 60_000],
];

/** `within 20 seconds`, `at most 3 files`, `no more than 10 MB`. */
const AT_MOST =
  /\b(?:within|at most|no more than|not more than|under|less than|max(?:imum)?(?: of)?|timeout(?: of|:)?|up to)\s{1,8}(\d{1,12})\s{0,8}(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|(?:output )?files?|bytes?|kb|kib|mb|mib|gb|gib)\b/i;

const NO_NETWORK = /\b(?:no|without|not use the|never use the)\s{1,8}network\b|\boffline\b/i;

const MUST = /^\s{0,100}must\s{1,8}(not\s{1,8})?(.{1,500})$/is;

const CONTRADICTIONS_MAX = 100;
