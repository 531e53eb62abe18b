import fc from 'fast-check';
import { diffArrays } from 'diff';
import { describe, expect, test } from 'vitest';
import { align, ALIGNED_MAX } from '../../src/base/align.ts';

const letters = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 12 });

describe('an alignment', () => {
  test('covers both lists without gaps, and marks only equal entries as the same', () => {
    fc.assert(
      fc.property(letters, letters, (baseline, candidate) => {
        let a = 0;
        let b = 0;
        let was: boolean | undefined;
        for (const {
          same,
          baseline: [fromA, toA],
          candidate: [fromB, toB],
        } of align(baseline, candidate).stretches) {
          expect([fromA, fromB]).toEqual([a, b]);
          expect(same).not.toBe(was);
          if (same) expect(baseline.slice(fromA, toA)).toEqual(candidate.slice(fromB, toB));
          [a, b, was] = [toA, toB, same];
        }
        expect([a, b]).toEqual([baseline.length, candidate.length]);
      }),
    );
  });

  test('finds as much in common as another implementation', () => {
    fc.assert(
      fc.property(letters, letters, (baseline, candidate) => {
        const ours = align(baseline, candidate)
          .stretches.filter(({ same }) => same)
          .reduce((sum, { baseline: [from, to] }) => sum + to - from, 0);
        const theirs = diffArrays(baseline, candidate)
          .filter(({ added, removed }) => !added && !removed)
          .reduce((sum, { value }) => sum + value.length, 0);
        expect(ours).toBe(theirs);
      }),
    );
  });

  test('is one stretch for equal lists, and empty for empty lists', () => {
    expect(align(['a', 'b'], ['a', 'b']).stretches).toEqual([{ same: true, baseline: [0, 2], candidate: [0, 2] }]);
    expect(align([], []).stretches).toEqual([]);
  });

  test('compares only the beginning and end of lists with a long middle, and says so', () => {
    const middle = (word: string): string[] =>
      Array.from({ length: ALIGNED_MAX + 1 }, (_, index) => `${word} ${index}`);
    const { stretches, isWhole } = align(['a', ...middle('x'), 'z'], ['a', ...middle('y'), 'z']);
    expect(isWhole).toBe(false);
    expect(stretches.map(({ same }) => same)).toEqual([true, false, true]);
  });
});
