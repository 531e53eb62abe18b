import { printable } from '../../base/printable.ts';
import { type MadeTwice, twiceText } from '../../contracts/made-twice/index.ts';
import type { Paint } from './paint.ts';

/** Says where two workers differ. Names and keys follow for the cases that differ in more than text. */
export function twiceLines(twice: MadeTwice | undefined, total: number, paint: Paint): string[] {
  if (!twice) return [];
  const { verdict, outcome } = twice.differ;
  const isGrave = verdict + outcome > 0;
  const label = isGrave ? paint('bad', 'twice') : twice.made < twice.chosen ? paint('note', 'twice') : 'twice';
  const grave = twice.cases.filter(({ differs }) => differs?.some(kind => kind !== 'text'));
  return [
    `  ${label}     ${twiceText(twice, total)}`,
    ...grave.slice(0, SHOWN_MAX).map(({ case_id, first, second }) => {
      const [one, other] = [first, second].map(side =>
        `${printable(side?.worker ?? '')} ${side?.verdict ?? ''}`.trim(),
      );
      return `            ${paint('faint', `${case_id}: ${one} (in the report), ${other}`)}`;
    }),
  ];
}

const SHOWN_MAX = 5;

/** The counts, and the cases that differ or were not made twice. */
export function twiceJson({ share, chosen, made, differing, differ, cases }: MadeTwice): object {
  return {
    share,
    chosen,
    made,
    differing,
    differ,
    cases: cases
      .filter(({ differs }) => differs === null || differs.length > 0)
      .map(({ case_id, first, second, why, differs }) => ({
        case_id,
        workers: [first, second].map(
          side => side && { worker: side.worker, key_id: side.key_id, verdict: side.verdict },
        ),
        differs,
        why,
      })),
  };
}
