import { type Difference, type Names, WEIGHT } from './difference.ts';
import type { Matched, PairOfSteps } from '../../contracts/artifacts/match-steps.ts';
import { DID, place, toolOf, toolsIn } from './step-words.ts';
import type { Step } from '../../contracts/artifacts/steps.ts';

/** The first two steps that both sides took in a different order, or in parallel on one side only. */
export function orderOfSteps(
  before: readonly Step[],
  now: readonly Step[],
  { same, moved }: Matched,
  names: Names,
): Difference | undefined {
  const common = [...same, ...moved].filter(([i]) => ORDERED.has((before[i] as Step).kind)).sort(([a], [b]) => a - b);
  const isMoved = new Set(moved.map(([i]) => i));
  const looked = common.filter(([i]) => isMoved.has(i)).slice(0, LOOKED_AT_MAX);
  for (const pair of looked) {
    const other = nearestReversed(before, now, common, pair);
    if (other) return otherOrder(before, now, pair, other, names);
  }
  return otherTiming(before, now, common, names);
}

const ORDERED: ReadonlySet<Step['kind']> = new Set(['call', 'retrieval']);

/** Each moved step is compared with all others, so their number is limited. */
const LOOKED_AT_MAX = 500;

/** The nearest step that came after it on one side and before it on the other. */
function nearestReversed(
  before: readonly Step[],
  now: readonly Step[],
  common: readonly PairOfSteps[],
  [i, j]: PairOfSteps,
): PairOfSteps | undefined {
  let nearest: PairOfSteps | undefined;
  for (const pair of common) {
    const [k, l] = pair;
    const was = batchOf(before, k) - batchOf(before, i);
    const is = batchOf(now, l) - batchOf(now, j);
    if (was * is < 0 && (!nearest || Math.abs(k - i) < Math.abs(nearest[0] - i))) nearest = pair;
  }
  return nearest;
}

function batchOf(steps: readonly Step[], index: number): number {
  return (steps[index] as Step).batch;
}

function otherOrder(
  before: readonly Step[],
  now: readonly Step[],
  [i, j]: PairOfSteps,
  [k, l]: PairOfSteps,
  names: Names,
): Difference {
  const [one, other] = [now[j] as Step, now[l] as Step];
  const [first, second] = one.batch < other.batch ? [one, other] : [other, one];
  return {
    kind: 'tool_order',
    baselineAt: place((before[i] as Step).at),
    newAt: place(one.at),
    says: `${names.is} ${orderText(first, second)}, and ${names.was} the other way round`,
    order: Math.min(i, k),
    weight: WEIGHT.otherwise,
    atMost: 'medium',
    tools: toolsIn([one, other]),
  };
}

function orderText(first: Step, second: Step): string {
  if (first.kind !== 'call' || second.kind !== 'call') {
    return `${DID[first.kind](first)} before it ${DID[second.kind](second)}`;
  }
  return first.tool === second.tool
    ? `made two calls to ${toolOf(first)} in a different order`
    : `called ${toolOf(first)} before ${toolOf(second)}`;
}

/** The first two neighbours that were called in parallel on one side and sequentially on the other. */
function otherTiming(
  before: readonly Step[],
  now: readonly Step[],
  common: readonly PairOfSteps[],
  names: Names,
): Difference | undefined {
  for (const [index, [k, l]] of common.entries()) {
    const previous = common[index - 1];
    if (!previous) continue;
    const [i, j] = previous;
    const wereTogether = before[i]?.batch === before[k]?.batch;
    const areTogether = now[j]?.batch === now[l]?.batch;
    if (wereTogether === areTogether) continue;
    const [first, second] = [now[j] as Step, now[l] as Step];
    const [is, was] = areTogether ? [AT_ONCE, IN_A_ROW] : [IN_A_ROW, AT_ONCE];
    return {
      kind: 'tool_concurrency',
      baselineAt: place((before[k] as Step).at),
      newAt: place(second.at),
      says: `${names.is} called ${toolOf(first)} and ${toolOf(second)} ${is}, and ${names.was} ${was}`,
      order: i,
      weight: WEIGHT.manner,
      atMost: 'low',
      tools: toolsIn([first, second]),
    };
  }
  return undefined;
}

const AT_ONCE = 'at the same time';
const IN_A_ROW = 'one after another';
