import type { Divergence } from '../../contracts/comparison/index.ts';
import type { JudgedCase } from '../compare-input.ts';
import type { Difference } from './difference.ts';

/** The failed expectations of a case. */
export type FailedAssertions = readonly JudgedCase['assertions'][number][];

export function failedOf(judged: JudgedCase | undefined): FailedAssertions {
  return judged?.assertions.filter(({ status }) => status === 'fail') ?? [];
}

/** At most three distinct names. */
export function failingNames(failed: FailedAssertions): string[] {
  return [...new Set(failed.map(({ name }) => name))].slice(0, NAMES_MAX);
}

const NAMES_MAX = 3;

/** Whether a failed expectation points to a difference, by location or by tool name. */
export function isNamedBy(failed: FailedAssertions): (difference: Difference) => boolean {
  return ({ newAt, tools = [] }) =>
    failed.some(
      ({ at, message }) =>
        (at !== null && at === newAt) || (message !== null && OF_TOOL.test(message) && names(message, tools)),
    );
}

/** The failed expectation about this kind of difference. */
export function aboutOf(
  { kind, newAt, tools = [] }: Difference,
  failed: FailedAssertions,
): FailedAssertions[number] | undefined {
  return failed.find(
    ({ name, message, at }) =>
      (at !== null && at === newAt) ||
      (ABOUT[kind]?.test(name) && (message === null || !OF_TOOL.test(message) || names(message, tools))),
  );
}

/** Time and cost, which an answer does not explain. */
export function isEffort(name: string): boolean {
  return /^max_(?:latency|ttft|cost)/.test(name);
}

/** The expectations about each kind of difference. */
const ABOUT: Readonly<Partial<Record<Divergence['kind'], RegExp>>> = {
  tool_choice: /^(?:tool_|action_required)/,
  retrieval: /^retrieval_required$/,
  output: /^(?:not_)?(?:contains|equals|regex|json_)|^must_|^evidence_/,
};

/** Matches messages of expectations that name a tool or an action. */
const OF_TOOL = /^The (?:tool|action) "/;

function names(message: string, tools: readonly string[]): boolean {
  return tools.some(tool => message.includes(`"${tool}"`));
}
