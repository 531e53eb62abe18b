import type { ComparedCase } from '../contracts/comparison/index.ts';
import type { JudgedCase } from '../contracts/evaluation/index.ts';
import { shortCause } from './cause-text.ts';
import { concernOf, failuresOf, problemsOf, SIDE_NAMES } from './report.ts';

/** Why a case needs attention: its change, or its verdict in a run without a comparison. */
export type Concern = NonNullable<ReturnType<typeof concernOf>> | 'failed' | 'error';

/** Cases that need attention for the same reason. */
export interface CauseGroup<Case> {
  readonly concern: Concern;
  /** The cause in a few words, such as "tool choice: orders.list instead of orders.get". */
  readonly text: string;
  readonly cases: readonly Case[];
}

/** Groups cases by what happened to them and why. Both the groups and their cases keep their order. */
export function causeGroups(cases: readonly ComparedCase[]): CauseGroup<ComparedCase>[] {
  return grouped(cases, concernOf, one => {
    const [first] = failuresOf(one);
    // A divergence does not explain a case that also failed before.
    if (one.divergence && (one.change !== 'same' || !first)) return { key: shortCause(one.divergence) };
    if (first) return failureCause(first);
    return { key: one.side_missing ? `missing from ${SIDE_NAMES[one.side_missing]}` : NO_CAUSE };
  });
}

/** The same for a run without a comparison: groups cases by their first failed expectation. */
export function problemGroups(cases: readonly JudgedCase[]): CauseGroup<JudgedCase>[] {
  return grouped(
    cases,
    ({ verdict }) => (verdict === 'pass' ? undefined : verdict === 'fail' ? 'failed' : 'error'),
    one => {
      const [first] = problemsOf(one);
      return first ? failureCause(first) : { key: NO_CAUSE };
    },
  );
}

const NO_CAUSE = 'no cause found';

interface Cause {
  readonly key: string;
  /** The text of the group if all its cases share it. */
  readonly says?: string;
}

/** Expectations are grouped by name, and by the tool or action that the message names. */
function failureCause({ name, message }: { readonly name: string; readonly message: string }): Cause {
  const tool = /^The (?:tool|action) "([^"]{1,100})"/.exec(message)?.[1];
  return { key: tool === undefined ? name : `${name}: ${tool}`, says: `${name}: ${message}` };
}

function grouped<Case>(
  cases: readonly Case[],
  concernOf: (one: Case) => Concern | undefined,
  causeOf: (one: Case) => Cause,
): CauseGroup<Case>[] {
  const groups = new Map<string, { concern: Concern; key: string; cases: Case[] }>();
  const texts = new Map<string, string>();
  for (const one of cases) {
    const concern = concernOf(one);
    if (concern === undefined) continue;
    const { key, says = key } = causeOf(one);
    texts.set(key, texts.has(key) && texts.get(key) !== says ? key : says);
    const group = groups.get(`${concern} ${key}`);
    if (group) group.cases.push(one);
    else groups.set(`${concern} ${key}`, { concern, key, cases: [one] });
  }
  return [...groups.values()].map(({ concern, key, cases }) => ({ concern, text: cut(texts.get(key) ?? key), cases }));
}

function cut(text: string): string {
  return text.length <= TEXT_CHARS_MAX ? text : `${text.slice(0, TEXT_CHARS_MAX).toWellFormed()}…`;
}

const TEXT_CHARS_MAX = 160;
