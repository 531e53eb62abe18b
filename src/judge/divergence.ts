import type { CaseArtifact } from '../contracts/artifacts/index.ts';
import type { Divergence } from '../contracts/comparison/index.ts';
import { canonicalize } from '../base/canonical.ts';
import { clip } from '../base/clip.ts';
import { align } from './align.ts';
import { differingKeys, quoted, quotedList, signatureOf, type Step, stepsOf } from './steps.ts';

/** The first thing that two agents did differently, without a word on what it means. */
export interface Difference {
  readonly kind: Divergence['kind'];
  readonly baselineAt: string | null;
  readonly newAt: string | null;
  /** A sentence without its full stop. */
  readonly says: string;
  /** Why it explains itself, such as a tool that answered with an error; a sentence. */
  readonly plainly?: string;
}

/** What the two are called: the one that came first, and at the beginning of a sentence the other. */
interface Names {
  readonly was: string;
  readonly is: string;
}

const SIDES: Names = { was: 'the baseline', is: 'The new side' };

/** Undefined where both did the same, by all that their artifacts tell. */
export function firstDifference(
  baseline: CaseArtifact,
  candidate: CaseArtifact,
  names: Names = SIDES,
): Difference | undefined {
  return (
    differenceOfFailures(baseline, candidate, names) ??
    differenceOfSteps(stepsOf(baseline), stepsOf(candidate), names) ??
    differenceOfActions(baseline.proposed_actions ?? [], candidate.proposed_actions ?? [], names) ??
    differenceOfOutputs(baseline, candidate)
  );
}

function differenceOfFailures(
  { runner_failure: was }: CaseArtifact,
  { runner_failure: is }: CaseArtifact,
  names: Names,
): Difference | undefined {
  if (is && (was?.class !== is.class || was.status !== is.status)) {
    const before = was ? `ended in ${failureText(was)}` : 'answered';
    return {
      kind: 'runner',
      baselineAt: was ? 'runner_failure' : 'final_output',
      newAt: 'runner_failure',
      says: `${names.is} ended in ${failureText(is)} where ${names.was} ${before}${because(is.error_message)}`,
      plainly: 'Certain, because a case without an answer cannot hold.',
    };
  }
  if (was && !is) {
    const says = `${names.is} answered where ${names.was} ended in ${failureText(was)}`;
    return { kind: 'runner', baselineAt: 'runner_failure', newAt: 'final_output', says };
  }
  return undefined;
}

function failureText({ class: name, status }: NonNullable<CaseArtifact['runner_failure']>): string {
  return status === undefined ? name : `${name} ${status}`;
}

/** What the runner said of it, as the rest of a sentence. */
function because(message: string | undefined): string {
  return message ? `: ${clip(message.replace(/\.$/, ''), MESSAGE_BYTES).text}` : '';
}

const MESSAGE_BYTES = 200;

function differenceOfSteps(before: readonly Step[], now: readonly Step[], names: Names): Difference | undefined {
  const { stretches, isWhole } = align(before.map(signatureOf), now.map(signatureOf));
  const first = stretches.find(({ same }) => !same);
  if (!first) return undefined;
  const gone = before.slice(...first.baseline);
  const come = now.slice(...first.candidate);
  const found = differenceOf(gone[0], come[0], names);
  return isWhole
    ? found
    : { ...found, says: `${found.says} (of these long streams only beginning and end were aligned)` };
}

/** What one side did at a point, and what the other did there instead. One of them may have done nothing. */
function differenceOf(was: Step | undefined, is: Step | undefined, names: Names): Difference {
  const places = { baselineAt: was ? `events[${was.at}]` : null, newAt: is ? `events[${is.at}]` : null };
  if (was && is && was.kind === is.kind) return { ...places, ...changed(was, is, names) };
  if (was && !is) return { ...places, kind: KIND[was.kind], says: `${names.is} ${LEFT_OUT[was.kind](was)}` };
  if (is && !was) return { ...places, kind: KIND[is.kind], says: `${names.is} ${ADDED[is.kind](is)}` };
  const before = was as Step;
  const now = is as Step;
  const telling = before.kind === 'final_output' ? now : before;
  return {
    ...places,
    kind: KIND[telling.kind],
    says: `${names.is} ${DID[now.kind](now)} where ${names.was} ${DID[before.kind](before)}`,
  };
}

const KIND = {
  tool_call: 'tool_choice',
  tool_result: 'tool_result',
  retrieval: 'retrieval',
  final_output: 'output',
} as const;

type Says = Readonly<Record<Step['kind'], (step: Step) => string>>;

const toolOf = (step: Step): string => ('tool' in step && step.tool !== '' ? quoted(step.tool) : 'a tool');

const DID: Says = {
  tool_call: step => `called ${toolOf(step)}`,
  tool_result: step => `had the answer of ${toolOf(step)}`,
  retrieval: () => 'retrieved documents',
  final_output: () => 'gave its final output',
};

const LEFT_OUT: Says = {
  tool_call: step => `did not call ${toolOf(step)}`,
  tool_result: step => `had no answer of ${toolOf(step)}`,
  retrieval: () => 'left out a retrieval',
  final_output: () => 'left out an event with its final output',
};

const ADDED: Says = {
  tool_call: step => `called ${toolOf(step)} in addition`,
  tool_result: step => `had an answer of ${toolOf(step)} in addition`,
  retrieval: () => 'retrieved documents in addition',
  final_output: () => 'gave a final output in addition',
};

/** Two steps of one kind that are not the same. */
function changed(was: Step, is: Step, names: Names): Pick<Difference, 'kind' | 'says' | 'plainly'> {
  if (was.kind === 'tool_call' && is.kind === 'tool_call') {
    if (was.tool !== is.tool) {
      return {
        kind: 'tool_choice',
        says: `${names.is} called ${quoted(is.tool)} where ${names.was} called ${quoted(was.tool)}`,
      };
    }
    const keys = quotedList(differingKeys(was.args, is.args));
    return { kind: 'tool_arguments', says: `${names.is} called ${quoted(is.tool)} with other arguments: ${keys}` };
  }
  if (was.kind === 'tool_result' && is.kind === 'tool_result') {
    const tool = toolOf(is);
    if (was.tool !== is.tool) {
      return { kind: 'tool_result', says: `The answer of ${tool} came where that of ${toolOf(was)} came before` };
    }
    if (was.status !== is.status) {
      const says = `The answer of ${tool} was ${is.status} where it was ${was.status} before`;
      return is.status === 'error' ? { kind: 'tool_result', says, plainly: TOOL_BROKE } : { kind: 'tool_result', says };
    }
    return { kind: 'tool_result', says: `${tool} was asked the same and answered something else` };
  }
  if (was.kind === 'retrieval' && is.kind === 'retrieval')
    return { kind: 'retrieval', says: changedRetrieval(was, is) };
  return { kind: 'output', says: 'After the same steps the final output is another' };
}

const TOOL_BROKE = 'Very likely the cause, because a tool that worked before failed.';

type Retrieval = Extract<Step, { kind: 'retrieval' }>;

function changedRetrieval(was: Retrieval, is: Retrieval): string {
  const found = new Set(is.docs);
  const lost = was.docs.filter(doc => !found.has(doc));
  const query = was.query === is.query ? 'The same query' : 'Another query';
  if (lost.length > 0) return `${query} no longer found ${quotedList(lost)}`;
  const known = new Set(was.docs);
  const come = is.docs.filter(doc => !known.has(doc));
  if (come.length > 0) return `${query} found ${quotedList(come)} in addition`;
  if (was.docs.join('\n') !== is.docs.join('\n')) return `${query} found the same documents in another order`;
  return was.query === is.query ? 'The same documents have other snippets' : 'Another query found the same documents';
}

type Action = NonNullable<CaseArtifact['proposed_actions']>[number];

function differenceOfActions(before: readonly Action[], now: readonly Action[], names: Names): Difference | undefined {
  for (let index = 0; index < Math.max(before.length, now.length); index++) {
    const was = before[index];
    const is = now[index];
    const places = {
      baselineAt: was ? `proposed_actions[${index}]` : null,
      newAt: is ? `proposed_actions[${index}]` : null,
    };
    if (!was || !is) {
      const does = is ? 'proposed' : 'did not propose';
      const action = quoted((is ?? was)?.action_type ?? '');
      return {
        ...places,
        kind: 'tool_choice',
        says: `${names.is} ${does} the action ${action}${is ? ' in addition' : ''}`,
      };
    }
    if (was.action_type !== is.action_type || was.tool_name !== is.tool_name) {
      const [old, fresh] =
        was.action_type === is.action_type ? [was.tool_name, is.tool_name] : [was.action_type, is.action_type];
      return {
        ...places,
        kind: 'tool_choice',
        says: `${names.is} proposed ${quoted(fresh)} where ${names.was} proposed ${quoted(old)}`,
      };
    }
    const keys = differingKeys(was.params, is.params);
    if (keys.length > 0) {
      return {
        ...places,
        kind: 'tool_arguments',
        says: `The action ${quoted(is.action_type)} has other parameters: ${quotedList(keys)}`,
      };
    }
    if (was.evidence_refs.length !== is.evidence_refs.length) {
      return { ...places, kind: 'output', says: `The action ${quoted(is.action_type)} rests on other evidence` };
    }
  }
  return undefined;
}

function differenceOfOutputs(
  { final_output: was }: CaseArtifact,
  { final_output: is }: CaseArtifact,
): Difference | undefined {
  if (!was || !is) return undefined;
  const places = { baselineAt: 'final_output', newAt: 'final_output' };
  if (was.content_type !== is.content_type) {
    return {
      ...places,
      kind: 'output',
      says: `After the same steps the output is ${is.content_type} where it was ${was.content_type}`,
    };
  }
  if (canonicalize(was.content) === canonicalize(is.content)) return undefined;
  if (typeof was.content === 'string' || typeof is.content === 'string') {
    return { ...places, kind: 'output', says: 'After the same steps the final output is another text' };
  }
  const keys = quotedList(differingKeys(was.content, is.content));
  return { ...places, kind: 'output', says: `After the same steps the final output differs in ${keys}` };
}
