import type { CaseArtifact } from '../contracts/artifacts/index.ts';
import type { ComparedCase, Comparison, Divergence } from '../contracts/comparison/index.ts';
import { SAYS_BYTES_MAX } from '../contracts/comparison/index.ts';
import { clip } from '../base/clip.ts';
import type { JudgedCase } from './compare-input.ts';
import { type Difference, firstDifference } from './divergence.ts';
import { runDifference } from './run-difference.ts';

/** Everything that is known of one case on both sides, and of the sides themselves. */
export interface Scene {
  readonly judged: { readonly baseline: JudgedCase | undefined; readonly candidate: JudgedCase | undefined };
  /** Undefined where a side has none that can be believed, or only what was accepted of it. */
  readonly artifacts: { readonly baseline: CaseArtifact | undefined; readonly candidate: CaseArtifact | undefined };
  readonly drift: Comparison['comparability']['fields'];
  readonly change: ComparedCase['change'];
}

/**
 * What differed first between two answers to one case, what kind of difference it is, and how sure it is that it explains
 * what fails. Null where nothing differs that anyone wrote down.
 */
export function rootCause(scene: Scene): Divergence | null {
  const cause = firstCause(scene);
  const doubt = DOUBTS[scene.change];
  if (!cause || doubt === undefined) return cause;
  // What differs in a case that did not get worse explains nothing, and is told all the same.
  return cause.cites.some(cite => cite.startsWith('comparability.')) || cause.cites.length === 0
    ? null
    : { ...cause, confidence: 'low', says: `${cause.says.slice(0, cause.says.indexOf('. ') + 1)} ${doubt}` };
}

const DOUBTS: Readonly<Partial<Record<ComparedCase['change'], string>>> = {
  same: 'No cause, because the case failed before, too.',
  flaky: 'Only a possible cause, because the case is flaky.',
};

function firstCause({ judged, artifacts, drift }: Scene): Divergence | null {
  const failing = failingNames(judged.candidate);
  const { baseline, candidate } = artifacts;
  // What a run is denied or changes is named before the steps that led to it, if it is what fails.
  const known =
    baseline && candidate
      ? (runDifference(baseline, candidate, failing) ?? firstDifference(baseline, candidate))
      : undefined;
  const isOtherCase =
    judged.baseline && judged.candidate && judged.baseline.case_sha256 !== judged.candidate.case_sha256;
  if (isOtherCase) return otherCase(Boolean(baseline && candidate && !known));
  if (known) return { ...placed(known), ...sureness(known, failing, judged.candidate) };
  if (!baseline || !candidate) return byHashes(judged, candidate);
  return sameSteps(drift, failing);
}

function otherCase(isSameAnswer: boolean): Divergence {
  const why = isSameAnswer
    ? 'Certain, because the agent did the same on both sides.'
    : 'Likely the cause, but the agent did something else, too.';
  return {
    kind: 'input',
    baseline_at: 'case',
    new_at: 'case',
    says: `The case itself was changed: its input, its expectations or its metadata. ${why}`,
    confidence: isSameAnswer ? 'high' : 'medium',
    cites: ['baseline:case', 'new:case'],
  };
}

function placed({ kind, baselineAt, newAt }: Difference): Omit<Divergence, 'says' | 'confidence'> {
  const cites = [
    ...(baselineAt === null ? [] : [`baseline:${baselineAt}`]),
    ...(newAt === null ? [] : [`new:${newAt}`]),
  ];
  return { kind, baseline_at: baselineAt, new_at: newAt, cites };
}

/** How sure it is that the first difference explains what fails, and why. */
function sureness(
  { kind, says, newAt, plainly }: Difference,
  failing: readonly string[],
  judged: JudgedCase | undefined,
): Pick<Divergence, 'says' | 'confidence'> {
  const failed = judged?.assertions.filter(({ status }) => status === 'fail') ?? [];
  const about = failed.find(({ name, at }) => ABOUT[kind]?.test(name) || (at !== null && at === newAt));
  if (plainly !== undefined) return told(says, 'high', plainly);
  if (about) return told(says, 'high', `Very likely the cause, because what fails (${about.name}) is about it.`);
  if (failing.length > 0)
    return told(says, 'medium', `Likely the cause, because what fails (${failing.join(', ')}) may follow from it.`);
  return told(says, 'low', 'Perhaps the cause: it is the first difference, and nothing says what fails.');
}

function told(
  says: string,
  confidence: Divergence['confidence'],
  why: string,
): Pick<Divergence, 'says' | 'confidence'> {
  return { says: clip(`${says}. ${why}`, SAYS_BYTES_MAX).text, confidence };
}

/** Expectations that speak of what a kind of difference is about. */
const ABOUT: Readonly<Partial<Record<Divergence['kind'], RegExp>>> = {
  tool_choice: /^(?:tool_|action_required)/,
  tool_arguments: /^(?:tool_|action_required)/,
  retrieval: /^retrieval_required$/,
  output: /^(?:not_)?(?:contains|equals|regex|json_)|^must_|^script$|^evidence_/,
};

function failingNames(judged: JudgedCase | undefined): string[] {
  const names = new Set(judged?.assertions.filter(({ status }) => status === 'fail').map(({ name }) => name));
  return [...names].slice(0, 3);
}

/** One side is known by its hashes alone. */
function byHashes(judged: Scene['judged'], candidate: CaseArtifact | undefined): Divergence | null {
  const { baseline: was, candidate: is } = judged;
  if (is?.error_class && is.error_class !== was?.error_class && candidate?.runner_failure) {
    return {
      kind: 'runner',
      baseline_at: null,
      new_at: 'runner_failure',
      says: `The new side ended in ${is.error_class}. Certain, because a case without an answer cannot hold.`,
      confidence: 'high',
      cites: ['new:runner_failure'],
    };
  }
  if (!was || !is || was.output_hash === null || is.output_hash === null || was.output_hash === is.output_hash)
    return null;
  const cites = candidate?.final_output ? ['new:final_output'] : [];
  return {
    kind: 'output',
    baseline_at: null,
    new_at: cites.length > 0 ? 'final_output' : null,
    says: 'The output has another hash than before. Only a guess, because the events of one side are not at hand.',
    confidence: 'low',
    cites,
  };
}

/** Agents that did the same and were judged differently: what is left are the surroundings, and time. */
function sameSteps(drift: Scene['drift'], failing: readonly string[]): Divergence | null {
  const isSurrounding = ({ field }: Scene['drift'][number]): boolean =>
    field === 'environment_hash' || field.startsWith('policy.');
  const index = drift.findIndex(field => field.field.startsWith('policy.'));
  const at = index >= 0 ? index : drift.findIndex(isSurrounding);
  const field = drift[at];
  if (field) {
    return {
      kind: field.field === 'environment_hash' ? 'environment' : 'policy',
      baseline_at: null,
      new_at: null,
      says: `Events and output are the same, but ${field.field} differs between the two sides. Only a possible cause, because nothing in the events points to it.`,
      confidence: 'low',
      cites: [`comparability.fields[${at}]`],
    };
  }
  if (!failing.some(name => /^max_(?:latency|cost)/.test(name))) return null;
  return {
    kind: 'environment',
    baseline_at: null,
    new_at: null,
    says: `Events and output are the same, and only time or cost differs (${failing.join(', ')}). Only a possible cause: load or prices, because nothing in the events points to anything.`,
    confidence: 'low',
    cites: [],
  };
}
