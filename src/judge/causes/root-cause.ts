import type { CaseArtifact } from '../../contracts/artifacts/index.ts';
import { failureName } from '../../contracts/artifacts/words.ts';
import type { ComparedCase, Comparison, Divergence } from '../../contracts/comparison/index.ts';
import type { JudgedCase } from '../compare-input.ts';
import { leading, WEIGHT } from './difference.ts';
import { differencesOf } from './divergence.ts';
import { byDrift, explained } from './explained.ts';
import { type FailedAssertions, failedOf, failingNames, isEffort, isNamedBy } from './failing.ts';
import { runDifference } from './run-difference.ts';

/** Everything known about one case on both sides, and about the sides. */
export interface Scene {
  readonly judged: { readonly baseline: JudgedCase | undefined; readonly candidate: JudgedCase | undefined };
  /** Undefined if a side has no trustworthy artifact, or only an accepted document. */
  readonly artifacts: { readonly baseline: CaseArtifact | undefined; readonly candidate: CaseArtifact | undefined };
  readonly drift: Comparison['comparability']['fields'];
  readonly change: ComparedCase['change'];
}

/**
 * The first difference between two answers to one case, its kind, and the confidence that it explains the failures.
 * Null if no recorded data differs.
 */
export function rootCause(scene: Scene): Divergence | null {
  const cause = firstCause(scene);
  const doubt = DOUBTS[scene.change];
  if (!cause || doubt === undefined) return cause;
  // A difference in a case that did not get worse explains nothing, but is still reported.
  return cause.baseline_at === null && cause.new_at === null
    ? null
    : { ...cause, confidence: 'low', says: `${cause.says.slice(0, cause.says.indexOf('. ') + 1)} ${doubt}` };
}

const DOUBTS: Readonly<Partial<Record<ComparedCase['change'], string>>> = {
  same: 'Not a cause, because the case also failed in the baseline.',
  flaky: 'Only a possible cause, because the case is flaky.',
};

function firstCause({ judged, artifacts, drift }: Scene): Divergence | null {
  const failed = failedOf(judged.candidate);
  const names = failingNames(failed);
  const { baseline, candidate } = artifacts;
  const lead = baseline && candidate && leadOf(baseline, candidate, failed);
  const known = lead?.difference;
  const isOtherCase =
    judged.baseline && judged.candidate && judged.baseline.case_sha256 !== judged.candidate.case_sha256;
  if (isOtherCase)
    return otherCase(Boolean(baseline && candidate && (known?.weight ?? WEIGHT.passing) === WEIGHT.passing));
  if (!baseline || !candidate) return byHashes(judged, candidate);
  const isAside =
    !known || known.weight === WEIGHT.passing || (known.kind === 'output' && names.length > 0 && names.every(isEffort));
  const surroundings = isAside ? byDrift(drift, names, known) : null;
  return surroundings ?? (lead ? explained(lead, failed, drift) : null);
}

function leadOf(baseline: CaseArtifact, candidate: CaseArtifact, failed: FailedAssertions): ReturnType<typeof leading> {
  // A violation or change that fails the case takes precedence over the steps that led to it.
  const ofRun = runDifference(baseline, candidate, failingNames(failed));
  return leading(ofRun ? [ofRun] : differencesOf(baseline, candidate), isNamedBy(failed));
}

function otherCase(isSameAnswer: boolean): Divergence {
  const why = isSameAnswer
    ? 'Certain, because the agent did the same on both sides.'
    : 'Likely the cause, but the agent also behaved differently.';
  return {
    kind: 'input',
    baseline_at: 'case',
    new_at: 'case',
    says: `The case itself changed: its input, its expectations or its metadata. ${why}`,
    confidence: isSameAnswer ? 'high' : 'medium',
    cites: ['baseline:case', 'new:case'],
  };
}

/** For a side that is known only by hashes. */
function byHashes(judged: Scene['judged'], candidate: CaseArtifact | undefined): Divergence | null {
  const { baseline: was, candidate: is } = judged;
  if (is?.error_class && is.error_class !== was?.error_class && candidate?.runner_failure) {
    return {
      kind: 'runner',
      baseline_at: null,
      new_at: 'runner_failure',
      says: `The candidate failed with ${failureName(is.error_class, is.failure?.error_name)}. Certain, because a case without an answer cannot pass.`,
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
    says: 'The output has a different hash than in the baseline. Only a guess, because the events of one side are not available.',
    confidence: 'low',
    cites,
  };
}
