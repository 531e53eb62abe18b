import type { MadeTwice, TwiceCase } from './shape.ts';

export type TwiceSums = Pick<MadeTwice, 'chosen' | 'made' | 'differing' | 'differ'>;

/** The counts that follow from the cases. */
export function twiceSums(cases: readonly TwiceCase[]): TwiceSums {
  const made = cases.filter(({ second }) => second !== null);
  const differing = made.filter(({ differs }) => (differs?.length ?? 0) > 0);
  const having = (kind: keyof MadeTwice['differ']) => made.filter(({ differs }) => differs?.includes(kind)).length;
  return {
    chosen: cases.length,
    made: made.length,
    differing: differing.length,
    differ: { outcome: having('outcome'), verdict: having('verdict'), text: having('text') },
  };
}

/** "12 of 500 attempts were made twice; 1 differs: case-7 (verdict, text); 2 could not be made twice". */
export function twiceText({ chosen, made, differing, cases }: MadeTwice, total: number): string {
  const attempts = total === 1 ? 'attempt' : 'attempts';
  if (chosen === 0) return `0 of ${total} ${attempts} were chosen to be made twice`;
  const shown = cases
    .filter(({ differs }) => (differs?.length ?? 0) > 0)
    .slice(0, SHOWN_MAX)
    .map(({ case_id, differs }) => `${case_id} (${differs?.join(', ')})`);
  const more = differing > shown.length ? ` and ${differing - shown.length} more` : '';
  return [
    `${made} of ${total} ${attempts} ${made === 1 ? 'was' : 'were'} made twice`,
    ...(made === 0 ? [] : differing === 0 ? ['none differs'] : []),
    ...(differing > 0 ? [`${differing} ${differing === 1 ? 'differs' : 'differ'}: ${shown.join(', ')}${more}`] : []),
    ...(made < chosen ? [`${chosen - made} could not be made twice: ${reasons(cases)}`] : []),
  ].join('; ');
}

/** "no second worker with another key (2)". */
function reasons(cases: readonly TwiceCase[]): string {
  return Object.entries(REASONS)
    .map(([why, text]) => [text, cases.filter(one => one.why === why).length] as const)
    .filter(([, count]) => count > 0)
    .map(([text, count]) => `${text} (${count})`)
    .join(', ');
}

const REASONS: Readonly<Record<NonNullable<TwiceCase['why']>, string>> = {
  not_answered: 'no worker signed a first outcome',
  no_other_worker: 'no worker with another key made it in time',
  lost: 'the second worker was lost',
  refused: 'the second outcome was refused',
};

const SHOWN_MAX = 5;
