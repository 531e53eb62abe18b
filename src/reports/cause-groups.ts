import type { ComparedCase } from '../contracts/comparison/index.ts';
import { concernOf, failuresOf } from './report.ts';

/** Cases that need attention for the same reason. */
export interface CauseGroup {
  readonly concern: NonNullable<ReturnType<typeof concernOf>>;
  /** The cause in one sentence, such as "tool choice: The candidate called …"; undefined if none is known. */
  readonly cause: string | undefined;
  readonly cases: readonly ComparedCase[];
}

/** Groups cases by what happened to them and why. Both the groups and their cases keep their order. */
export function causeGroups(cases: readonly ComparedCase[]): CauseGroup[] {
  const groups = new Map<string, CauseGroup & { readonly cases: ComparedCase[] }>();
  for (const one of cases) {
    const concern = concernOf(one);
    if (concern === undefined) continue;
    const cause = causeOf(one);
    const key = JSON.stringify([concern, cause]);
    const group = groups.get(key);
    if (group) group.cases.push(one);
    else groups.set(key, { concern, cause, cases: [one] });
  }
  return [...groups.values()];
}

/** The sentence about the divergence, without the one about its confidence; else the first failed expectation. */
function causeOf(one: ComparedCase): string | undefined {
  if (one.divergence) {
    const { kind, says } = one.divergence;
    const end = says.indexOf('. ');
    return `${kind.replaceAll('_', ' ')}: ${end < 0 ? says : says.slice(0, end + 1)}`;
  }
  const [first] = failuresOf(one);
  return first && `${first.name}: ${first.message}`;
}
