import * as z from 'zod/mini';
import { must, rulesFor } from '../rule.ts';
import { count, filledText, record } from '../shape.ts';
import type { Comparison } from './shape.ts';

/** The kinds of difference between two versions of a case, in listing order. Kinds that weaken the case come first. */
const KINDS = ['lost', 'looser', 'input', 'metadata', 'tighter', 'added', 'not_judged'] as const;

/** How a case differs from its version in the baseline. */
export const changedShape = record({
  /** Null if the baseline does not store the case. */
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
  /** How many differences are not listed. */
  more: z.optional(count()),
});

export type CaseChange = z.infer<typeof changedShape>;

export type CaseDifference = NonNullable<CaseChange['differences']>[number];

/** The limits on listed differences per case, and on the size of each text in bytes. */
export const DIFFERENCES_MAX = 20;
export const DIFFERENCE_BYTES_MAX = 300;

/** Orders differences by kind. Weakening ones come first, so that the listing limit never hides them. */
export function byKind(one: Pick<CaseDifference, 'what'>, other: Pick<CaseDifference, 'what'>): number {
  return KINDS.indexOf(one.what) - KINDS.indexOf(other.what);
}

/** Whether a case expects less than in the baseline. A change without known differences counts as weakened. */
export function isWeakened(changed: CaseChange | undefined): boolean {
  if (!changed) return false;
  return changed.differences?.some(({ what }) => what === 'lost' || what === 'looser') ?? true;
}

const rule = rulesFor<Comparison>();

export const CM12 = rule({
  id: 'CM12',
  title: 'Changed Cases Shown',
  why: 'A case that expects less passes more easily, so the reader must see what was dropped.',
  asks: [
    'changed, allowed only if a case has trials on both sides, has differences: null, or a list of 1 to 20',
    `what is ${KINDS.slice(0, -1).join(', ')} or ${KINDS.at(-1)}, and the list is in this order`,
    'at is not empty; baseline and new are strings of at most 300 bytes; one of them may be null',
    'more, if present, is the number of differences beyond the 20 that are listed',
  ],
  fields: ['cases[].changed'],
  reads: ['cases[].baseline', 'cases[].new'],
  *check({ cases }) {
    for (const [index, { changed, baseline, new: candidate }] of cases.entries()) {
      if (!changed) continue;
      const at = `cases[${index}].changed`;
      if (baseline.trials.length === 0 || candidate.trials.length === 0)
        yield must(at, 'must be absent unless the case has trials on both sides');
      const { differences, more } = changed;
      const listed = differences?.length ?? 0;
      if (differences && (listed === 0 || listed > DIFFERENCES_MAX))
        yield must(`${at}.differences`, `must have 1 to ${DIFFERENCES_MAX} entries`);
      if (more !== undefined && listed !== DIFFERENCES_MAX)
        yield must(`${at}.more`, `must be absent if fewer than ${DIFFERENCES_MAX} differences are listed`);
      for (const [number, one] of (differences ?? []).entries()) {
        const place = `${at}.differences[${number}]`;
        const previous = differences?.[number - 1];
        if (previous && byKind(previous, one) > 0) yield must(`${place}.what`, 'is out of order');
        if (one.baseline === null && one.new === null) yield must(place, 'is null on both sides');
        for (const side of ['baseline', 'new'] as const) {
          if (Buffer.byteLength(one[side] ?? '') > DIFFERENCE_BYTES_MAX)
            yield must(`${place}.${side}`, `must be at most ${DIFFERENCE_BYTES_MAX} bytes`);
        }
      }
    }
  },
  breach: ({ cases, ...rest }) => ({
    ...rest,
    cases: cases.map(one => ({ ...one, changed: { differences: [] } })),
  }),
});
