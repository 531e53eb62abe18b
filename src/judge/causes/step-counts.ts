import { type Difference, type Names, WEIGHT } from './difference.ts';
import type { Matched } from '../../contracts/artifacts/match-steps.ts';
import { ADDED, KIND, OMITTED, place, type UnorderedDifference, toolOf, toolsIn } from './step-words.ts';
import type { Step } from '../../contracts/artifacts/steps.ts';

/**
 * Steps that only one side has. A call that the side also makes elsewhere is a duplicate, a retry or an extra call. A
 * tool counts as not called only if the side never calls it.
 */
export function countedSteps(
  before: readonly Step[],
  now: readonly Step[],
  { marks, gone, come }: Matched,
  names: Names,
): Difference[] {
  const was = new Tally(before, marks.before);
  const is = new Tally(now, marks.now);
  return [
    ...gone.map(index => {
      const step = before[index] as Step;
      const places = { baselineAt: place(step.at), newAt: null };
      return { ...places, ...toldOf(step, index, was, is, names, 'gone'), order: index };
    }),
    ...come.map(([index, after]) => {
      const step = now[index] as Step;
      const places = { baselineAt: null, newAt: place(step.at) };
      return { ...places, ...toldOf(step, index, was, is, names, 'come'), order: after - COMES_BEFORE };
    }),
  ];
}

/** A step that only the candidate has comes before the baseline's next step. */
const COMES_BEFORE = 0.5;

function toldOf(
  step: Step,
  index: number,
  was: Tally,
  is: Tally,
  names: Names,
  how: 'gone' | 'come',
): Pick<UnorderedDifference, 'kind' | 'says' | 'weight' | 'atMost' | 'tools' | 'isMet'> {
  const tools = toolsIn([step]);
  const [own, other] = how === 'gone' ? [was, is] : [is, was];
  const mark = own.markOf(index);
  if (step.kind !== 'call' || !other.hasTool(step.tool)) {
    const says = how === 'gone' ? OMITTED[step.kind](step) : ADDED[step.kind](step);
    return { kind: KIND[step.kind], says: `${names.is} ${says}`, weight: WEIGHT.somewhat, tools };
  }
  const soft = { weight: WEIGHT.somewhat, atMost: 'medium', tools } as const;
  if (own.hasFailedBefore(mark, index)) {
    const says = how === 'come' ? `called ${toolOf(step)} again after an error` : didNotHaveTo(step, names);
    return { ...soft, kind: 'tool_retry', says: `${names.is} ${says}`, isMet: true };
  }
  const isTwice = other.timesOf(mark) > 0;
  const same = isTwice ? ' with the same arguments' : '';
  const [before, now] = isTwice
    ? [was.timesOf(mark), is.timesOf(mark)]
    : [was.timesOfTool(step.tool), is.timesOfTool(step.tool)];
  return {
    ...soft,
    kind: isTwice ? 'tool_duplicate' : 'tool_choice',
    says: `${names.is} called ${toolOf(step)} ${times(now, same)}, and ${names.was} ${times(before, same)}`,
  };
}

function didNotHaveTo(step: Step, { was }: Names): string {
  return `did not have to retry ${toolOf(step)}, which failed in ${was}`;
}

function times(count: number, same: string): string {
  return count === 1 ? 'once' : `${count} times${same}`;
}

/** How often a side made each call, and called each tool. */
class Tally {
  readonly #marks: readonly string[];
  readonly #byMark = new Map<string, number>();
  readonly #byTool = new Map<string, number>();
  /** The index of the first failed call with each mark. */
  readonly #failed = new Map<string, number>();

  constructor(steps: readonly Step[], marks: readonly string[]) {
    this.#marks = marks;
    for (const [index, step] of steps.entries()) {
      if (step.kind !== 'call') continue;
      const mark = this.markOf(index);
      this.#byMark.set(mark, this.timesOf(mark) + 1);
      this.#byTool.set(step.tool, this.timesOfTool(step.tool) + 1);
      if (step.reply?.status === 'error' && !this.#failed.has(mark)) this.#failed.set(mark, index);
    }
  }

  markOf(index: number): string {
    return this.#marks[index] as string;
  }

  timesOf(mark: string): number {
    return this.#byMark.get(mark) ?? 0;
  }

  timesOfTool(tool: string): number {
    return this.#byTool.get(tool) ?? 0;
  }

  hasTool(tool: string): boolean {
    return this.#byTool.has(tool);
  }

  hasFailedBefore(mark: string, index: number): boolean {
    return (this.#failed.get(mark) ?? index) < index;
  }
}
