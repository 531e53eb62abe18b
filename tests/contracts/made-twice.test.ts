import { describe, expect, test } from 'vitest';
import { check } from '../../src/contracts/check.ts';
import {
  isChosenTwice,
  type MadeTwice,
  madeTwice,
  type TwiceCase,
  type TwiceKind,
  twiceSums,
  twiceText,
} from '../../src/contracts/made-twice/index.ts';

const example = madeTwice.example as MadeTwice;
const [made] = example.cases as [TwiceCase];

function differing(id: string, differs: readonly TwiceKind[]): TwiceCase {
  const [before, after] = differs.includes('verdict') ? (['pass', 'fail'] as const) : [null, null];
  return {
    ...made,
    case_id: id,
    first: made.first && { ...made.first, verdict: before },
    second: made.second && { ...made.second, verdict: after },
    differs: [...differs],
  };
}

function unmade(id: string, why: NonNullable<TwiceCase['why']>): TwiceCase {
  return { ...made, case_id: id, second: null, differs: null, why };
}

const document = (cases: TwiceCase[]): MadeTwice => ({ ...example, ...twiceSums(cases), cases });

const broken = (cases: TwiceCase[]) =>
  check(madeTwice, document(cases), { strict: true, internal: false }).violations.map(({ rule_id }) => rule_id);

describe('the line about attempts made twice', () => {
  test.each<readonly [number, TwiceCase[], string]>([
    [10, [], '0 of 10 attempts were chosen to be made twice'],
    [1, [differing('a', [])], '1 of 1 attempt was made twice; none differs'],
    [
      500,
      [differing('a', []), differing('case-7', ['verdict', 'text'])],
      '2 of 500 attempts were made twice; 1 differs: case-7 (verdict, text)',
    ],
    [
      9,
      [unmade('a', 'no_other_worker'), unmade('b', 'no_other_worker'), unmade('c', 'lost')],
      '0 of 9 attempts were made twice; 3 could not be made twice: no worker with another key made it in time (2), the second worker was lost (1)',
    ],
  ])('with %s cases', (total, cases, text) => {
    expect(twiceText(document(cases), total)).toBe(text);
  });

  test('names five cases and counts the others', () => {
    const cases = Array.from({ length: 7 }, (_, index) => differing(`c${index}`, ['outcome']));
    expect(twiceText(document(cases), 7)).toMatch(/; 7 differ: c0 \(outcome\), .*c4 \(outcome\) and 2 more$/);
  });
});

describe('a case made twice', () => {
  test('keeps its rules in every way that two workers differ', () => {
    expect(broken([differing('a', []), differing('b', ['outcome']), differing('c', ['text'])])).toEqual([]);
    expect(broken([differing('d', ['verdict', 'text']), unmade('e', 'refused')])).toEqual([]);
  });

  test.each<readonly [string, TwiceCase]>([
    ['a missing second outcome that counts as the same', { ...unmade('a', 'lost'), differs: [] }],
    ['a missing second outcome without a reason', { ...unmade('a', 'lost'), why: null }],
    ['a reason although it was made', { ...differing('a', []), why: 'lost' }],
    ['a first outcome that was not answered', unmade('a', 'not_answered')],
    ['verdicts that differ silently', { ...differing('a', ['verdict', 'text']), differs: ['text'] }],
    ['kinds out of order', { ...differing('a', ['verdict', 'text']), differs: ['text', 'verdict'] }],
    ['text beside an outcome', differing('a', ['outcome', 'text'])],
  ])('breaks TW4 with %s', (_, one) => {
    expect(new Set(broken([one]))).toEqual(new Set(['TW4']));
  });
});

test('a share chooses about that many cases, and another salt chooses others', () => {
  const ids = Array.from({ length: 2_000 }, (_, index) => `case-${index}`);
  const chosen = (salt: string) => ids.filter(id => isChosenTwice({ share: 0.1, salt }, 'r1', id));
  const [one, other] = ['a', 'b'].map(digit => chosen(digit.repeat(64))) as [string[], string[]];
  expect(one.length).toBeGreaterThan(140);
  expect(one.length).toBeLessThan(260);
  expect(one).not.toEqual(other);
  expect(ids.every(id => isChosenTwice({ share: 1, salt: 'a'.repeat(64) }, 'r1', id))).toBe(true);
});
