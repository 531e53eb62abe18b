import * as z from 'zod/mini';
import { must, rulesFor } from '../rule.ts';
import { count, filledText, record } from '../shape.ts';
import type { Comparison } from './shape.ts';

/** The kinds of difference between two versions of a case, in the order in which they are listed. */
const KINDS = ['lost', 'looser', 'input', 'metadata', 'tighter', 'added', 'not_judged'] as const;

/** How a case differs from the case of the same name in the baseline. */
export const changedShape = record({
  /** Null where the baseline does not keep the case itself. */
  differences: z.nullable(
    z.array(
      record({
        what: z.enum(KINDS),
        at: filledText(),
        baseline: z.nullable(z.string()),
        new: z.nullable(z.string()),
      }),
    ),
  ),
  /** How many more there are. */
  more: z.optional(count()),
});

export type CaseChange = z.infer<typeof changedShape>;

export type CaseDifference = NonNullable<CaseChange['differences']>[number];

/** Differences of one case that are listed, and bytes of each text in them. */
export const DIFFERENCES_MAX = 20;
export const DIFFERENCE_BYTES_MAX = 300;

/** Sorts differences as a comparison lists them: what asks less comes first, so that no limit hides it. */
export function byKind(one: Pick<CaseDifference, 'what'>, other: Pick<CaseDifference, 'what'>): number {
  return KINDS.indexOf(one.what) - KINDS.indexOf(other.what);
}

/** Whether a case asks less than in the baseline. A change that nothing shows may be such a change. */
export function isWeakened(changed: CaseChange | undefined): boolean {
  if (!changed) return false;
  return changed.differences?.some(({ what }) => what === 'lost' || what === 'looser') ?? true;
}

const rule = rulesFor<Comparison>();

export const CM12 = rule({
  id: 'CM12',
  title: 'Changed Cases Shown',
  why: 'A case that asks less than before passes more easily, and the reader must see what it no longer asks.',
  asks: [
    'changed, if present, belongs to a case with trials on both sides, and has differences: null, or a list of 1 to 20',
    `what is ${KINDS.slice(0, -1).join(', ')} or ${KINDS.at(-1)}, and the list is in this order`,
    'at is not empty; baseline and new are texts of at most 300 bytes, or one of them is null',
    'more, if present, counts the differences that are not listed, and 20 are listed',
  ],
  fields: ['cases[].changed'],
  reads: ['cases[].baseline', 'cases[].new'],
  *check({ cases }) {
    for (const [index, { changed, baseline, new: candidate }] of cases.entries()) {
      if (!changed) continue;
      const at = `cases[${index}].changed`;
      if (baseline.trials.length === 0 || candidate.trials.length === 0)
        yield must(at, 'belongs to a case with trials on both sides');
      const { differences, more } = changed;
      const listed = differences?.length ?? 0;
      if (differences && (listed === 0 || listed > DIFFERENCES_MAX))
        yield must(`${at}.differences`, `must have 1 to ${DIFFERENCES_MAX} entries`);
      if (more !== undefined && listed !== DIFFERENCES_MAX)
        yield must(`${at}.more`, `must not be there where fewer than ${DIFFERENCES_MAX} are listed`);
      for (const [number, one] of (differences ?? []).entries()) {
        const place = `${at}.differences[${number}]`;
        const before = differences?.[number - 1];
        if (before && byKind(before, one) > 0) yield must(`${place}.what`, 'must stand before the entry above it');
        if (one.baseline === null && one.new === null) yield must(place, 'has nothing on either side');
        for (const side of ['baseline', 'new'] as const) {
          if (Buffer.byteLength(one[side] ?? '') > DIFFERENCE_BYTES_MAX)
            yield must(`${place}.${side}`, `must have at most ${DIFFERENCE_BYTES_MAX} bytes`);
        }
      }
    }
  },
  breach: ({ cases, ...rest }) => ({
    ...rest,
    cases: cases.map(one => ({ ...one, changed: { differences: [] } })),
  }),
});
