import type { AttemptRow, AttemptsReport, RankedAttempt } from '../../contracts/attempts.ts';

export type AttemptRanking = Pick<AttemptsReport, 'winner' | 'why' | 'judged_by' | 'ties'> & {
  readonly attempts: readonly RankedAttempt[];
};

/**
 * Ranks attempts by what their sealed runs state: checks, then tests, then the size of the diff, then the cost. The
 * order of the rows has no influence. The attempt in first place wins if it qualifies.
 */
export function rankAttempts(rows: readonly AttemptRow[]): AttemptRanking {
  const attempts = [...rows].sort(compareAttempts).map((row, index) => Object.assign({ rank: index + 1 }, row));
  const [first, second] = attempts;
  const judged_by = rows.some(({ checks }) => checks.total > 0) ? 'checks' : 'nothing';
  const winner = first && canWin(first) ? { attempt: first.attempt, run_id: first.run_id } : null;
  const why = winner && first ? whyFirst(first, second, judged_by) : WHY_NONE[judged_by];
  return { winner, why, judged_by, ties: tiesIn(attempts), attempts };
}

/** A total order: two different attempts never compare as equal. */
function compareAttempts(a: AttemptRow, b: AttemptRow): number {
  for (const { of } of KEYS) {
    const [one, other] = [of(a), of(b)];
    if (one !== other) return one < other ? -1 : 1;
  }
  return a.attempt - b.attempt || (a.run_id < b.run_id ? -1 : 1);
}

interface RankKey {
  /** The smaller, the better. */
  readonly of: (row: AttemptRow) => number;
  /** Why the winner is before the next attempt, if this key decides. */
  readonly why: (first: AttemptRow) => string;
}

const UNKNOWN = Number.POSITIVE_INFINITY;

/** What counts, the most important first. An unknown value is the worst. */
const KEYS: readonly RankKey[] = [
  {
    of: row => (canWin(row) ? 0 : 1),
    why: ({ checks }) =>
      checks.total > 0
        ? 'It is the only attempt that completed with all checks passed.'
        : 'It is the only attempt that completed without a policy violation.',
  },
  { of: row => (stands(row) ? 0 : 1), why: () => 'It completed without a hard violation.' },
  { of: ({ checks }) => (checks.passed === checks.total ? 0 : 1), why: () => 'All its checks passed.' },
  { of: ({ checks }) => -checks.passed, why: () => 'More of its checks passed.' },
  { of: ({ tests }) => (tests ? -tests.passed : UNKNOWN), why: () => 'More of its tests passed.' },
  { of: ({ tests }) => tests?.failed ?? UNKNOWN, why: () => 'Fewer of its tests failed.' },
  { of: linesOf, why: row => `No attempt with equal checks and tests has a smaller diff: ${linesText(linesOf(row))}.` },
  {
    of: ({ cost_usd }) => cost_usd ?? UNKNOWN,
    why: () => 'Its diff is as small as that of another attempt, and its cost is lower.',
  },
];

/** Whether it completed, without a violation that `proctor apply` refuses. */
function stands({ termination, violations }: AttemptRow): boolean {
  return termination === 'completed' && violations.hard === 0;
}

/** Without checks, nothing shows that the work is good, so even a denied tool call disqualifies. */
function canWin(row: AttemptRow): boolean {
  const { checks, violations } = row;
  return stands(row) && checks.passed === checks.total && (checks.total > 0 || violations.soft === 0);
}

function linesOf({ diff }: AttemptRow): number {
  return diff ? diff.added + diff.removed : UNKNOWN;
}

function linesText(lines: number): string {
  return lines === 1 ? '1 line' : `${lines} lines`;
}

function whyFirst(first: AttemptRow, second: AttemptRow | undefined, judgedBy: AttemptsReport['judged_by']): string {
  const passed = judgedBy === 'checks' ? 'All its checks passed.' : 'No check judged it.';
  if (!second) return `${passed} It is the only attempt with a result.`;
  const key = KEYS.find(({ of }) => of(first) !== of(second));
  const decided = key?.why(first) ?? `It is equal to attempt ${second.attempt}, and the lower number wins.`;
  return `${passed} ${decided}`;
}

const WHY_NONE = {
  checks: 'No attempt completed with all checks passed.',
  nothing: 'No attempt completed without a policy violation, and no check judged them.',
} as const;

function tiesIn(attempts: readonly AttemptRow[]): number[][] {
  const ties: number[][] = [];
  for (const [index, row] of attempts.entries()) {
    const before = attempts[index - 1];
    if (before && KEYS.every(({ of }) => of(before) === of(row))) ties.at(-1)?.push(row.attempt);
    else ties.push([row.attempt]);
  }
  return ties.filter(({ length }) => length > 1);
}
