import { type CaseDifference, type ComparedCase, type Comparison, isWeakened } from '../contracts/comparison/index.ts';

/** The differences between a case and the baseline's case with the same id, one per line. */
export function changeLines({ changed }: Pick<ComparedCase, 'changed'>): string[] {
  if (!changed) return [];
  const { differences, more } = changed;
  if (!differences) return ['the case changed, but the baseline does not record the old version'];
  return [...differences.map(lineOf), ...(more === undefined ? [] : [`and ${more} more changes`])];
}

function lineOf({ what, at, baseline, new: now }: CaseDifference): string {
  const name = at.replace(/^(?:expected|input|metadata)\./, '');
  if (baseline === null || now === null)
    return `${WORDS[what]} ${name}: ${quoted(baseline ?? now ?? '')}${SIDES[what]?.[baseline === null ? 1 : 0] ?? ''}`;
  return `${WORDS[what]} ${name}: ${quoted(baseline)} → ${quoted(now)}`;
}

const WORDS: Readonly<Record<CaseDifference['what'], string>> = {
  lost: 'lost expectation',
  looser: 'looser expectation',
  input: 'input changed at',
  metadata: 'metadata changed at',
  tighter: 'tighter expectation',
  added: 'added expectation',
  not_judged: 'changed expectation that Proctor does not judge,',
};

/** The ending for a value that only the baseline or only the candidate has. */
const SIDES: Readonly<Partial<Record<CaseDifference['what'], readonly [gone: string, fresh: string]>>> = {
  looser: [' is gone', ' is allowed now'],
  input: [' is gone', ' is new'],
  metadata: [' is gone', ' is new'],
  tighter: [' is no longer allowed', ' is new'],
  not_judged: [' is gone', ' is new'],
};

function quoted(text: string): string {
  return `“${text}”`;
}

/** Changed cases, weakened ones first. */
export function changedCases({ cases }: Pick<Comparison, 'cases'>): ComparedCase[] {
  const changed = cases.filter(one => one.changed !== undefined);
  return [...changed.filter(one => isWeakened(one.changed)), ...changed.filter(one => !isWeakened(one.changed))];
}

/** Names the cases that differ between the two suites; undefined if none do. */
export function casesNote(comparison: Pick<Comparison, 'cases'>): string | undefined {
  const only = (has: 'baseline' | 'new', lacks: 'baseline' | 'new'): ComparedCase[] =>
    comparison.cases.filter(one => one[has].trials.length > 0 && one[lacks].trials.length === 0);
  const groups = [
    ['changed', changedCases(comparison)],
    ['removed', only('baseline', 'new')],
    ['added', only('new', 'baseline')],
  ] as const;
  const told = groups.filter(([, cases]) => cases.length > 0).map(([word, cases]) => `${word}: ${named(cases)}`);
  return told.length === 0 ? undefined : told.join('; ');
}

function named(cases: readonly ComparedCase[]): string {
  const more = cases.length - NAMED_MAX;
  return [
    ...cases.slice(0, NAMED_MAX).map(({ case_id }) => quoted(case_id)),
    ...(more > 0 ? [`${more} more`] : []),
  ].join(', ');
}

const NAMED_MAX = 10;
