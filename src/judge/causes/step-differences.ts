import type { CaseArtifact } from '../../contracts/artifacts/index.ts';
import type { Difference, Names } from './difference.ts';
import { type Matched, matchSteps } from '../../contracts/artifacts/match-steps.ts';
import { changedStep, idleKeys, otherOutcome, replacedStep } from './step-changes.ts';
import { countedSteps } from './step-counts.ts';
import { orderOfSteps } from './step-order.ts';
import { type UnorderedDifference, toolsIn } from './step-words.ts';
import { type Step, stepsOf } from '../../contracts/artifacts/steps.ts';

/** All differences between two agents, step by step, unordered. */
export function stepDifferences(baseline: CaseArtifact, candidate: CaseArtifact, names: Names): Difference[] {
  const [before, now] = [stepsOf(baseline), stepsOf(candidate)];
  const matched = matchSteps(before, now);
  const { same, moved, changed, replaced, isWhole } = matched;
  const pairOf = ([i, j]: readonly [number, number]): [Step, Step] => [before[i] as Step, now[j] as Step];
  const ordered = orderOfSteps(before, now, matched, names);
  const ends = batchEnds(before);
  const tools = { before: new Set(toolsIn(before)), now: new Set(toolsIn(now)) };
  const isRetried = retriedIn(now, matched);
  const idle = idleKeys([...same, ...moved].map(pairOf));
  const found: Difference[] = ordered ? [ordered] : [];
  // A different order explains different results of the moved steps.
  for (const pair of ordered?.kind === 'tool_order' ? same : [...same, ...moved]) {
    const other = otherOutcome(...pairOf(pair), idle, names);
    if (other && !isRetried(other, pair[1]))
      found.push({ ...other, order: (other.isMet ? (ends[pair[0]] as number) : pair[0]) + MET_LATER });
  }
  for (const pair of changed) found.push({ ...changedStep(...pairOf(pair), names), order: pair[0] });
  for (const pair of replaced) {
    const [was, is] = pairOf(pair);
    const isElsewhere =
      toolsIn([was]).some(tool => tools.now.has(tool)) || toolsIn([is]).some(tool => tools.before.has(tool));
    found.push({
      ...replacedStep(was, is, names),
      order: pair[0],
      ...(isElsewhere && { atMost: 'medium' as const }),
    });
  }
  found.push(...countedSteps(before, now, matched, names));
  if (isWhole) return found;
  const note = '(only the beginning and end of these long streams were aligned)';
  return found.map(one => Object.assign({}, one, { says: `${one.says} ${note}` }));
}

/** A result comes after its call, and after all calls made together with it. */
const MET_LATER = 0.25;

/** Whether a failed call was repeated and then answered; it is reported as a retry. */
function retriedIn(
  now: readonly Step[],
  { marks, come }: Matched,
): (difference: UnorderedDifference, index: number) => boolean {
  const lastGood = new Map<string, number>();
  for (const [index] of come) {
    const step = now[index] as Step;
    if (step.kind === 'call' && step.reply?.status === 'ok') lastGood.set(marks.now[index] as string, index);
  }
  return ({ refusal }, index) => refusal !== undefined && (lastGood.get(marks.now[index] as string) ?? -1) > index;
}

function batchEnds(steps: readonly Step[]): number[] {
  const ends = steps.map((_, index) => index);
  for (let index = steps.length - 2; index >= 0; index--) {
    if (steps[index]?.batch === steps[index + 1]?.batch) ends[index] = ends[index + 1] as number;
  }
  return ends;
}
