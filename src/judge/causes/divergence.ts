import type { CaseArtifact } from '../../contracts/artifacts/index.ts';
import { failureName } from '../../contracts/artifacts/words.ts';
import { canonicalize } from '../../base/canonical.ts';
import { clip } from '../../base/clip.ts';
import { actionDifference } from './action-difference.ts';
import { type Difference, leading, type Names, WEIGHT } from './difference.ts';
import { differingKeys, quotedList } from './quoted.ts';
import { stepDifferences } from './step-differences.ts';
import type { UnorderedDifference } from './step-words.ts';

const SIDES: Names = { was: 'the baseline', is: 'The candidate' };

/** The difference that most likely led to the rest; undefined if the artifacts show none. */
export function firstDifference(
  baseline: CaseArtifact,
  candidate: CaseArtifact,
  names: Names = SIDES,
): Difference | undefined {
  return leading(differencesOf(baseline, candidate, names))?.difference;
}

/** All candidates for the cause. Proposed actions and outputs count only if the steps are the same. */
export function differencesOf(baseline: CaseArtifact, candidate: CaseArtifact, names: Names = SIDES): Difference[] {
  const failure = differenceOfFailures(baseline, candidate, names);
  if (failure) return [{ ...failure, order: 0 }];
  const steps = stepDifferences(baseline, candidate, names);
  // A final output among the events follows from the other steps, like the separate one.
  const acts = steps.filter(({ kind }) => kind !== 'output');
  if (acts.some(({ weight }) => weight > WEIGHT.passing)) return acts;
  const last =
    actionDifference(baseline.proposed_actions ?? [], candidate.proposed_actions ?? [], names) ??
    differenceOfOutputs(baseline, candidate);
  return last ? [...steps, { ...last, order: Number.POSITIVE_INFINITY }] : steps;
}

function differenceOfFailures(
  { runner_failure: was }: CaseArtifact,
  { runner_failure: is }: CaseArtifact,
  names: Names,
): UnorderedDifference | undefined {
  if (is && (was?.class !== is.class || was.status !== is.status)) {
    const before = was ? `failed with ${failureText(was)}` : 'answered';
    return {
      kind: 'runner',
      baselineAt: was ? 'runner_failure' : 'final_output',
      newAt: 'runner_failure',
      says: `${names.is} failed with ${failureText(is)}, but ${names.was} ${before}${because(is.error_message)}`,
      plainly: 'Certain, because a case without an answer cannot pass.',
      weight: WEIGHT.otherwise,
      isMet: true,
    };
  }
  if (was && !is) {
    const says = `${names.is} answered, but ${names.was} failed with ${failureText(was)}`;
    return {
      kind: 'runner',
      baselineAt: 'runner_failure',
      newAt: 'final_output',
      says,
      weight: WEIGHT.otherwise,
      isMet: true,
    };
  }
  return undefined;
}

function failureText({ class: of, error_name, status }: NonNullable<CaseArtifact['runner_failure']>): string {
  const name = failureName(of, error_name);
  return status === undefined || name !== of ? name : `${name} ${status}`;
}

/** The runner's message, as the rest of a sentence. */
function because(message: string | undefined): string {
  return message ? `: ${clip(message.replace(/\.$/, ''), MESSAGE_BYTES).text}` : '';
}

const MESSAGE_BYTES = 200;

function differenceOfOutputs(
  { final_output: was }: CaseArtifact,
  { final_output: is }: CaseArtifact,
): UnorderedDifference | undefined {
  if (!was || !is) return undefined;
  const common = {
    kind: 'output',
    baselineAt: 'final_output',
    newAt: 'final_output',
    weight: WEIGHT.otherwise,
  } as const;
  if (was.content_type !== is.content_type) {
    return {
      ...common,
      says: `After the same steps, the output is ${is.content_type} instead of ${was.content_type}`,
    };
  }
  if (canonicalize(was.content) === canonicalize(is.content)) return undefined;
  if (typeof was.content === 'string' || typeof is.content === 'string') {
    return { ...common, says: 'After the same steps, the text of the final output differs' };
  }
  const keys = quotedList(differingKeys(was.content, is.content));
  return { ...common, says: `After the same steps, the final output differs in ${keys}` };
}
