import { align } from '../../base/align.ts';
import { lasting, type Step } from './steps.ts';

/** A baseline step and its counterpart in the candidate, by index. */
export type PairOfSteps = readonly [before: number, now: number];

/** The matched steps of both sides. Each step is in exactly one of these lists. */
export interface Matched {
  /** The key that identifies each step. */
  readonly marks: { readonly before: readonly string[]; readonly now: readonly string[] };
  /** The same step at the same position. */
  readonly same: readonly PairOfSteps[];
  /** The same step at another position. */
  readonly moved: readonly PairOfSteps[];
  /** The same tool or kind of step with different arguments. */
  readonly changed: readonly PairOfSteps[];
  /** One step instead of another. */
  readonly replaced: readonly PairOfSteps[];
  readonly gone: readonly number[];
  /** Steps that only the candidate has, each with the number of baseline steps before it. */
  readonly come: readonly (readonly [now: number, after: number])[];
  /** False if the streams are so long that only their beginning and end were aligned. */
  readonly isWhole: boolean;
}

export function matchSteps(before: readonly Step[], now: readonly Step[]): Matched {
  const [marksBefore, marksNow] = [marksOf(before, now), marksOf(now, before)];
  const { stretches, isWhole } = align(marksBefore, marksNow);
  const same: PairOfSteps[] = [];
  let gone: Loose[] = [];
  let come: Loose[] = [];
  for (const [number, stretch] of stretches.entries()) {
    const [[from, to], [fromNow, toNow]] = [stretch.baseline, stretch.candidate];
    if (stretch.same) for (let index = from; index < to; index++) same.push([index, fromNow + index - from]);
    else {
      for (let index = from; index < to; index++) gone.push({ index, number, after: from, end: to });
      for (let index = fromNow; index < toNow; index++) come.push({ index, number, after: from, end: to });
    }
  }
  const take = (keyBefore: (loose: Loose) => string, keyNow: (loose: Loose) => string): PairOfSteps[] => {
    const taken = paired(gone, come, keyBefore, keyNow);
    ({ gone, come } = taken);
    return taken.pairs;
  };
  const kindBefore = ({ index }: Loose): string => kindOf(before[index] as Step);
  const kindNow = ({ index }: Loose): string => kindOf(now[index] as Step);
  const moved = take(
    ({ index }) => marksBefore[index] as string,
    ({ index }) => marksNow[index] as string,
  );
  const changed = [
    ...take(
      loose => `${loose.number} ${kindBefore(loose)}`,
      loose => `${loose.number} ${kindNow(loose)}`,
    ),
    ...take(kindBefore, kindNow),
  ];
  const inPlace = ({ number }: Loose): string => String(number);
  const replaced = take(inPlace, inPlace);
  return {
    marks: { before: marksBefore, now: marksNow },
    same,
    moved,
    changed,
    replaced,
    gone: gone.map(({ index }) => index),
    come: placedAfter(come, [...same, ...changed, ...replaced]),
    isWhole,
  };
}

/** A step without a counterpart so far, with its stretch. */
interface Loose {
  readonly index: number;
  readonly number: number;
  /** The range of the stretch in the baseline. */
  readonly after: number;
  readonly end: number;
}

/** Places each step after the counterpart of its predecessor in the same stretch, or at the start of the stretch. */
function placedAfter(come: readonly Loose[], pairs: readonly PairOfSteps[]): Matched['come'] {
  const partners = new Map(pairs.map(([before, now]) => [now, before]));
  let last: readonly [now: number, after: number] | undefined;
  return come.map(({ index, after, end }) => {
    const partner = partners.get(index - 1);
    const behind = last && last[0] === index - 1 ? last[1] : partner === undefined ? after : partner + 1;
    last = [index, Math.min(Math.max(after, behind), end)];
    return last;
  });
}

/** The request, without ids and times unless the other side has exactly the same request. */
function marksOf(steps: readonly Step[], others: readonly Step[]): string[] {
  const known = new Set(others.map(({ asks }) => asks));
  return steps.map(({ asks }) => (known.has(asks) ? asks : lasting(asks)));
}

function kindOf(step: Step): string {
  return step.kind === 'call' ? `call ${step.tool}` : step.kind;
}

/** Pairs entries with equal keys, in order. */
function paired(
  gone: readonly Loose[],
  come: readonly Loose[],
  keyBefore: (loose: Loose) => string,
  keyNow: (loose: Loose) => string,
): { pairs: PairOfSteps[]; gone: Loose[]; come: Loose[] } {
  const waiting = new Map<string, Loose[]>();
  for (const loose of [...come].reverse()) {
    const key = keyNow(loose);
    const list = waiting.get(key);
    if (list) list.push(loose);
    else waiting.set(key, [loose]);
  }
  const pairs: PairOfSteps[] = [];
  const left: Loose[] = [];
  for (const loose of gone) {
    const partner = waiting.get(keyBefore(loose))?.pop();
    if (partner) pairs.push([loose.index, partner.index]);
    else left.push(loose);
  }
  const taken = new Set(pairs.map(([, index]) => index));
  return { pairs, gone: left, come: come.filter(({ index }) => !taken.has(index)) };
}
