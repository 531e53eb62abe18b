/** Entries that both lists have in common, or that only one of them has at that point. */
interface Stretch {
  readonly same: boolean;
  /** The range in each list; `to` is exclusive. */
  readonly baseline: readonly [from: number, to: number];
  readonly candidate: readonly [from: number, to: number];
}

export interface Alignment {
  readonly stretches: readonly Stretch[];
  /** False if the middle was too long to compare, so only the common beginning and end are aligned. */
  readonly isWhole: boolean;
}

/** The limit, in entries per list, on the part between the common beginning and the common end. */
export const ALIGNED_MAX = 2_000;

/**
 * Aligns two lists by their longest common subsequence. Time and memory grow with the product of the differing middle
 * parts, which `ALIGNED_MAX` limits.
 */
export function align(baseline: readonly string[], candidate: readonly string[]): Alignment {
  const [a, b] = numbered(baseline, candidate);
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const middleA = a.subarray(head, a.length - tail);
  const middleB = b.subarray(head, b.length - tail);
  const isWhole = middleA.length <= ALIGNED_MAX && middleB.length <= ALIGNED_MAX;
  const stretches = new Stretches();
  stretches.add(true, head, head);
  if (isWhole) addMiddle(stretches, middleA, middleB);
  else stretches.add(false, middleA.length, middleB.length);
  stretches.add(true, tail, tail);
  return { stretches: stretches.list, isWhole };
}

/** Replaces texts with numbers, so that long texts are compared only once. */
function numbered(baseline: readonly string[], candidate: readonly string[]): [Int32Array, Int32Array] {
  const numbers = new Map<string, number>();
  const numberOf = (text: string): number => {
    let number = numbers.get(text);
    if (number === undefined) numbers.set(text, (number = numbers.size));
    return number;
  };
  return [Int32Array.from(baseline, numberOf), Int32Array.from(candidate, numberOf)];
}

function addMiddle(stretches: Stretches, a: Int32Array, b: Int32Array): void {
  const width = b.length + 1;
  // lengths[i * width + j]: the length of the longest common subsequence of a[i..] and b[j..].
  const lengths = new Uint16Array((a.length + 1) * width);
  const at = (i: number, j: number): number => lengths[i * width + j] as number;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      stretches.add(true, 1, 1);
      i++;
      j++;
    } else if (j === b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1))) {
      stretches.add(false, 1, 0);
      i++;
    } else {
      stretches.add(false, 0, 1);
      j++;
    }
  }
}

/** Collects stretches and merges neighbours of the same kind. */
class Stretches {
  readonly list: Stretch[] = [];

  add(same: boolean, fromBaseline: number, fromCandidate: number): void {
    if (fromBaseline + fromCandidate === 0) return;
    const last = this.list.at(-1);
    const a = last?.baseline[1] ?? 0;
    const b = last?.candidate[1] ?? 0;
    if (last?.same === same) this.list.pop();
    const starts = last?.same === same ? [last.baseline[0], last.candidate[0]] : [a, b];
    this.list.push({
      same,
      baseline: [starts[0] as number, a + fromBaseline],
      candidate: [starts[1] as number, b + fromCandidate],
    });
  }
}
