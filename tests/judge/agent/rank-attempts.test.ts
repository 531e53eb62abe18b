import { describe, expect, test } from 'vitest';
import type { AttemptRow } from '../../../src/contracts/attempts.ts';
import { rankAttempts } from '../../../src/judge/agent/rank-attempts.ts';

const row = (attempt: number, changes: Partial<AttemptRow> = {}): AttemptRow => ({
  attempt,
  run_id: `agent_20260403_101500_00000000000${attempt % 10}`,
  termination: 'completed',
  reason: 'ok',
  violations: { hard: 0, soft: 0 },
  checks: { passed: 2, total: 2 },
  tests: { passed: 10, failed: 0 },
  diff: { files: 1, added: 3, removed: 1 },
  cost_usd: 0.1,
  duration_ms: 1_000,
  flags: [],
  ...changes,
});

const order = (...rows: AttemptRow[]): number[] => rankAttempts(rows).attempts.map(({ attempt }) => attempt);

describe('the rank of an attempt', () => {
  test.each<[string, Partial<AttemptRow>, Partial<AttemptRow>]>([
    ['completion before checks', { checks: { passed: 0, total: 2 } }, { termination: 'killed_timeout' }],
    ['a hard violation last', { checks: { passed: 0, total: 2 } }, { violations: { hard: 1, soft: 0 } }],
    ['all checks before the diff', { diff: { files: 9, added: 900, removed: 0 } }, { checks: { passed: 1, total: 2 } }],
    ['more checks first', { checks: { passed: 2, total: 3 } }, { checks: { passed: 1, total: 3 } }],
    ['more passed tests first', { tests: { passed: 9, failed: 2 } }, { tests: { passed: 2, failed: 0 } }],
    ['fewer failed tests first', { tests: { passed: 9, failed: 1 } }, { tests: { passed: 9, failed: 2 } }],
    ['known tests first', { tests: { passed: 0, failed: 5 } }, { tests: null }],
    ['a smaller diff first', { cost_usd: 9 }, { diff: { files: 1, added: 3, removed: 2 } }],
    ['a known diff first', { diff: { files: 5, added: 5_000, removed: 0 } }, { diff: null }],
    ['a lower cost first', { cost_usd: 0.01 }, { cost_usd: 0.02 }],
    ['a known cost first', { cost_usd: 100 }, { cost_usd: null }],
  ])('puts %s', (_, better, worse) => {
    expect(order(row(2, better), row(1, worse))).toEqual([2, 1]);
    expect(order(row(1, worse), row(2, better))).toEqual([2, 1]);
  });

  test('depends on the attempt number if everything else is equal, and the ranking reports the tie', () => {
    const { ties, winner, why } = rankAttempts([row(3), row(1), row(2, { cost_usd: 0.5 })]);
    expect([ties, winner?.attempt]).toEqual([[[1, 3]], 1]);
    expect(why).toBe('All its checks passed. It is equal to attempt 3, and the lower number wins.');
  });
});

describe('the winner', () => {
  test('needs every check to pass', () => {
    const failing = row(1, { checks: { passed: 1, total: 2 } });
    expect(rankAttempts([failing])).toMatchObject({
      winner: null,
      why: 'No attempt completed with all checks passed.',
    });
    expect(rankAttempts([failing, row(2)]).winner?.attempt).toBe(2);
  });

  test('must have no violation if no check judged it, and the reason says so', () => {
    const checks = { passed: 0, total: 0 };
    const denied = row(1, { checks, diff: { files: 0, added: 0, removed: 0 }, violations: { hard: 0, soft: 1 } });
    expect(rankAttempts([denied]).winner).toBeNull();
    const { winner, why, judged_by } = rankAttempts([denied, row(2, { checks })]);
    expect([winner?.attempt, judged_by]).toEqual([2, 'nothing']);
    expect(why).toMatch(/^No check judged it\. It is the only attempt/);
  });

  test('is null without attempts', () => {
    expect(rankAttempts([])).toMatchObject({ winner: null, attempts: [], ties: [] });
  });
});

test('the order is total, and does not depend on the order of the rows', () => {
  const random = generator(20_260_403);
  const pick = <One>(...all: readonly One[]): One => all[Math.floor(random() * all.length)] as One;
  for (let round = 0; round < 500; round++) {
    const rows = Array.from({ length: 2 + Math.floor(random() * 19) }, (_, index) => {
      const total = pick(0, 1, 3);
      return row(index + 1, {
        termination: pick('completed', 'completed', 'killed_timeout', 'error'),
        violations: { hard: pick(0, 0, 1), soft: pick(0, 1) },
        checks: { passed: Math.min(total, pick(0, 1, 3)), total },
        tests: pick(null, { passed: pick(1, 2), failed: pick(0, 1) }),
        diff: pick(null, { files: 1, added: pick(1, 2), removed: pick(0, 1) }),
        cost_usd: pick(null, 0, 0.5),
      });
    });
    const shuffled = [...rows].sort(() => random() - 0.5);
    expect(rankAttempts(shuffled)).toEqual(rankAttempts(rows));
    const ranked = rankAttempts(rows).attempts;
    // A pair keeps its order without the other attempts, as a transitive order requires.
    for (let index = 1; index < ranked.length; index++) {
      const [one, other] = [pick(...ranked.slice(0, index)), ranked[index]] as [AttemptRow, AttemptRow];
      expect(order(other, one)).toEqual([one.attempt, other.attempt]);
    }
  }
});

/** The same numbers from 0 to 1 on every run (mulberry32). */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
