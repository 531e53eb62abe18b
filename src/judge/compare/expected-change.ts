import { canonicalize } from '../../base/canonical.ts';
import { EXPECTATIONS, type Expected, NOT_JUDGED } from '../../contracts/suite/index.ts';
import type { Draft } from './case-change.ts';
import { all } from '../suite/judgement.ts';

/**
 * Compares the expectations of a case. An expectation that was removed is lost, even if another one replaces it,
 * because Proctor cannot tell whether the replacement is as strict. The exceptions are listed below.
 */
export function* expectedDifferences(was: Expected, is: Expected): Generator<Draft> {
  for (const key of EXPECTATIONS) {
    for (const { what, was: baseline, is: candidate } of COMPARERS[key](was, is, key)) {
      yield { what, at: `expected.${key}`, was: baseline, is: candidate };
    }
  }
}

type Found = Omit<Draft, 'at'>;

type Comparer = (was: Expected, is: Expected, key: keyof Expected) => Iterable<Found>;

/** Every entry of a list is required. `implies` says whether requiring one entry also requires another. */
function entries(
  listOf: (expected: Expected) => readonly unknown[],
  implies?: (asked: string, other: string) => boolean,
): Comparer {
  return function* (was, is) {
    const [before, now] = [listOf(was), listOf(is)];
    for (const entry of notIn(before, now, implies)) yield { what: 'lost', was: entry, is: undefined };
    for (const entry of notIn(now, before)) yield { what: 'added', was: undefined, is: entry };
  };
}

/** Entries of one list that the other list neither contains nor implies. */
function notIn(
  list: readonly unknown[],
  others: readonly unknown[],
  implies?: (other: string, entry: string) => boolean,
): unknown[] {
  const known = new Set(others.map(canonicalize));
  const texts = others.filter(other => typeof other === 'string');
  // Compares all pairs, so long lists are skipped.
  const tried = implies && list.length * texts.length <= TRIED_MAX ? implies : undefined;
  return list.filter(entry => {
    if (known.has(canonicalize(entry))) return false;
    return !(tried && typeof entry === 'string' && texts.some(other => tried(other, entry)));
  });
}

const TRIED_MAX = 10_000;

const listed =
  (key: keyof Expected) =>
  (expected: Expected): readonly unknown[] => {
    const value: unknown = expected[key];
    return value === undefined ? [] : all(value as string | string[]);
  };

/** A single value. `isTighter` says whether the candidate's value requires at least what the baseline's does. */
function whole(
  valueOf: (expected: Expected) => unknown,
  isTighter: (was: unknown, is: unknown) => boolean = () => false,
): Comparer {
  return function* (expectedBefore, expectedNow) {
    const [was, is] = [valueOf(expectedBefore), valueOf(expectedNow)];
    if (was === undefined && is === undefined) return;
    if (was === undefined) yield { what: 'added', was, is };
    else if (is === undefined || canonicalize(was) !== canonicalize(is))
      yield { what: is !== undefined && isTighter(was, is) ? 'tighter' : 'lost', was, is };
  };
}

/** An upper limit. */
const limit: Comparer = function* (expectedBefore, expectedNow, key) {
  const [was, is] = [expectedBefore[key], expectedNow[key]] as (number | undefined)[];
  if (was === is) return;
  if (was === undefined || is === undefined) yield { what: was === undefined ? 'added' : 'lost', was, is };
  else yield { what: is > was ? 'looser' : 'tighter', was, is };
};

/** A requirement that applies only if its value is true. */
const flag: Comparer = function* (expectedBefore, expectedNow, key) {
  const [was, is] = [expectedBefore[key], expectedNow[key]];
  if ((was === true) === (is === true)) return;
  yield { what: was === true ? 'lost' : 'added', was, is };
};

/** Only these files may change; without the list, all may. */
const changedOnly: Comparer = function* ({ changed_only: before }, { changed_only: now }) {
  if (before === undefined || now === undefined) {
    // An empty list allows no file at all.
    if (all(before ?? ['']).length === 0) yield { what: 'lost', was: before, is: now };
    if (all(now ?? ['']).length === 0) yield { what: 'added', was: before, is: now };
    for (const entry of all(before ?? [])) yield { what: 'lost', was: entry, is: undefined };
    for (const entry of all(now ?? [])) yield { what: 'added', was: undefined, is: entry };
    return;
  }
  for (const entry of notIn(all(now), all(before))) yield { what: 'looser', was: undefined, is: entry };
  for (const entry of notIn(all(before), all(now))) yield { what: 'tighter', was: entry, is: undefined };
};

/** A case allows no violation, unless `no_violations` is false or `allow_violations` lists its class. */
const violations: Comparer = function* (expectedBefore, expectedNow) {
  const [before, now] = [allowedIn(expectedBefore), allowedIn(expectedNow)];
  const [was, is] = [before, now].map(allowed => (allowed === 'any' ? allowed : [...allowed].join(', ') || 'none'));
  if (was === is) return;
  const isWithin = before === 'any' || (now !== 'any' && [...now].every(one => before.has(one)));
  yield { what: isWithin ? 'tighter' : 'looser', was, is };
};

function allowedIn({ no_violations, allow_violations = [] }: Expected): ReadonlySet<string> | 'any' {
  return no_violations === false ? 'any' : new Set([...all(allow_violations)].sort());
}

/** A higher minimum of passed tests and a lower maximum of failed ones are tighter. */
const testCounts: Comparer = function* ({ tests: before = {} }, { tests: now = {} }) {
  for (const [key, sign] of [
    ['passed_min', -1],
    ['failed_max', 1],
  ] as const) {
    const [was, is] = [before[key], now[key]];
    if (was === is) continue;
    if (was === undefined || is === undefined) yield { what: was === undefined ? 'added' : 'lost', was, is };
    else yield { what: (is - was) * sign > 0 ? 'looser' : 'tighter', was, is };
  }
};

/** Whether the candidate's sequence contains the baseline's tools in order. */
function holdsSequence(was: unknown, is: unknown): boolean {
  let next = 0;
  const baseline = was as readonly string[];
  for (const tool of is as readonly string[]) if (tool === baseline[next]) next++;
  return next === baseline.length;
}

const notJudged: Comparer = function* (expectedBefore, expectedNow, key) {
  for (const found of whole(expected => expected[key])(expectedBefore, expectedNow, key))
    yield { ...found, what: 'not_judged' };
};

const COMPARERS: { readonly [Key in keyof Expected]-?: Comparer } = {
  contains: entries(listed('contains'), (asked, other) => asked.includes(other)),
  not_contains: entries(listed('not_contains'), (asked, other) => other.includes(asked)),
  must_include: entries(listed('must_include')),
  must_not_include: entries(listed('must_not_include')),
  equals: whole(({ equals }) => equals),
  regex: entries(listed('regex')),
  not_regex: entries(listed('not_regex')),
  json_schema: whole(({ json_schema }) => json_schema),
  json_path: entries(({ json_path = [] }) => json_path),
  tool_required: entries(listed('tool_required')),
  tool_sequence: whole(({ tool_sequence: tools }) => tools && all(tools), holdsSequence),
  tool_forbidden: entries(listed('tool_forbidden')),
  action_required: entries(listed('action_required')),
  evidence_required_for_actions: flag,
  retrieval_required: entries(({ retrieval_required }) => retrieval_required?.doc_ids ?? []),
  max_latency_ms: limit,
  max_ttft_ms: limit,
  max_cost_usd: limit,
  max_steps: limit,
  // The file name contains the hash.
  script: whole(({ script }) => script?.file),
  ...(Object.fromEntries(NOT_JUDGED.map(key => [key, notJudged])) as Record<(typeof NOT_JUDGED)[number], Comparer>),
  // Every run of an agent program must complete, unless its case says otherwise.
  termination: whole(({ termination = 'completed' }) => termination),
  no_violations: () => [],
  allow_violations: violations,
  no_flags: flag,
  changed_only: changedOnly,
  not_changed: entries(listed('not_changed')),
  max_diff_lines: limit,
  // Which checks are required also depends on those that the case has.
  check: () => [],
  tests: testCounts,
};
