import { measuredText, unknownText } from './sentence.ts';
import type { AskedLimits, CaseGroup, LimitCheck, GateLimitName, GateLimits, Tally } from './shape.ts';

export interface CountedCase extends CaseGroup {
  readonly tally: Tally;
}

/** Checks every limit: first those for all cases, then per suite, tag and severity. */
export function checkLimits(asked: AskedLimits, cases: readonly CountedCase[]): LimitCheck[] {
  return [...groupsOf(asked, cases)].flatMap(group =>
    LIMIT_NAMES.flatMap(limit => {
      const allowed = group.limits[limit];
      return allowed === undefined ? [] : [checkOf(group, limit, allowed)];
    }),
  );
}

export function hasLimits(asked: AskedLimits): boolean {
  return [asked.limits, asked.per_suite, asked.per_tag, asked.per_severity].some(
    part => part !== undefined && Object.keys(part).length > 0,
  );
}

/** Picks the limits from a gate file. */
export function limitsIn({ limits, per_suite, per_tag, per_severity }: AskedLimits): AskedLimits {
  return {
    ...(limits && { limits }),
    ...(per_suite && { per_suite }),
    ...(per_tag && { per_tag }),
    ...(per_severity && { per_severity }),
  };
}

/** Limits and the cases they apply to. */
export interface LimitGroup {
  readonly of: LimitCheck['of'];
  readonly name: string | null;
  readonly limits: GateLimits;
  readonly cases: readonly CountedCase[];
}

function* groupsOf(asked: AskedLimits, cases: readonly CountedCase[]): Generator<LimitGroup> {
  if (asked.limits) yield { of: 'all', name: null, limits: asked.limits, cases };
  for (const [of, groups, isIn] of [
    ['suite', asked.per_suite, (one: CaseGroup, name: string) => one.suite === name],
    ['tag', asked.per_tag, (one: CaseGroup, name: string) => one.tags?.includes(name) === true],
    ['severity', asked.per_severity, (one: CaseGroup, name: string) => one.severity === name],
  ] as const) {
    // Sorted, so that the order of keys in the document does not matter.
    for (const [name, limits] of Object.entries(groups ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))) {
      yield { of, name, limits, cases: cases.filter(one => isIn(one, name)) };
    }
  }
}

/** The measured value and the cases it counts, or the reason why there is no value. */
type Measured =
  | { readonly value: number; readonly counted: readonly CountedCase[] }
  | { readonly value: null; readonly why: string };

function checkOf(group: LimitGroup, limit: GateLimitName, allowed: number): LimitCheck {
  const { of, name } = group;
  const found = group.cases.length === 0 ? unknown(NO_CASE[of]) : MEASURES[limit](group.cases, allowed);
  const asked = { of, name, limit, allowed, measured: found.value };
  if (found.value === null) return { ...asked, is_met: false, message: unknownText(group, limit, found.why) };
  const is_met = limit === 'min_pass_rate' ? found.value >= allowed : found.value <= allowed;
  return { ...asked, is_met, message: measuredText(group, limit, { ...found, allowed }) };
}

/** A limit for cases that do not exist is probably a typo, and would always be met. */
const NO_CASE: Readonly<Record<LimitCheck['of'], string>> = {
  all: 'there is no case',
  suite: 'no case belongs to this suite',
  tag: 'no case has this tag',
  severity: 'no case has this severity',
};

const NOT_JUDGED = 'no case was judged';

const MEASURES: Readonly<Record<GateLimitName, (cases: readonly CountedCase[], allowed: number) => Measured>> = {
  min_pass_rate: cases => {
    if (!cases.some(({ tally }) => tally.passed + tally.failed > 0)) return unknown(NOT_JUDGED);
    // A missing trial has not passed. An unjudged trial is covered by max_unjudged.
    const rates = cases.flatMap(({ tally: { passed, failed, missing } }) =>
      passed + failed + missing === 0 ? [] : [passed / (passed + failed + missing)],
    );
    return { value: sumOf(rates) / rates.length, counted: [] };
  },
  max_failing: cases =>
    cases.some(({ tally }) => tally.passed + tally.failed > 0)
      ? countOf(cases, ({ passed, failed }) => failed > 0 && passed === 0)
      : unknown(NOT_JUDGED),
  max_flaky: cases =>
    cases.some(({ tally }) => tally.passed + tally.failed > 1)
      ? countOf(cases, ({ passed, failed }) => failed > 0 && passed > 0)
      : unknown('no case was judged twice. --repeat 3 runs the suite three times'),
  max_unjudged: cases =>
    cases.some(({ tally }) => tally.passed + tally.failed + tally.unjudged > 0)
      ? countOf(cases, ({ unjudged }) => unjudged > 0)
      : unknown('no case was answered'),
  max_missing: cases => countOf(cases, ({ missing }) => missing > 0),
  max_cost_usd: (cases, allowed) => {
    const sum = sumOf(cases.map(({ tally }) => tally.cost_usd));
    const unpriced = sumOf(cases.map(({ tally }) => tally.unpriced));
    if (!cases.some(({ tally }) => tally.priced > 0)) return unknown('no answer says what it cost');
    if (unpriced > 0 && sum <= allowed)
      return unknown(
        unpriced === 1 ? '1 answer does not say what it cost' : `${unpriced} answers do not say what they cost`,
      );
    return { value: sum, counted: [] };
  },
  max_latency_ms: (cases, allowed) => {
    const untimed = sumOf(cases.map(({ tally }) => tally.untimed ?? 0));
    const means = cases.flatMap(({ tally }) => (tally.timed === 0 ? [] : [tally.latency_ms / tally.timed]));
    if (means.length === 0) return unknown('no answer was timed');
    const sorted = Float64Array.from(means).sort();
    const value = sorted[Math.ceil(0.95 * sorted.length) - 1] as number;
    if (untimed > 0 && value <= allowed)
      return unknown(
        untimed === 1
          ? '1 trial timed out and does not say how long it took'
          : `${untimed} trials timed out and do not say how long they took`,
      );
    return { value, counted: [] };
  },
};

const LIMIT_NAMES = Object.keys(MEASURES) as readonly GateLimitName[];

function countOf(cases: readonly CountedCase[], isCounted: (tally: Tally) => boolean): Measured {
  const counted = cases.filter(({ tally }) => isCounted(tally));
  return { value: counted.length, counted };
}

function unknown(why: string): Measured {
  return { value: null, why };
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
