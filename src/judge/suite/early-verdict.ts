import type { CaseArtifact } from '../../contracts/artifacts/index.ts';
import { verdictOf } from '../../contracts/evaluation/index.ts';
import type { SuiteCase } from '../../contracts/suite/index.ts';
import { Answer } from './answer.ts';
import { Effort, TooMuchHere } from './effort.ts';
import { judgeAnswer } from './expectations.ts';

/**
 * The verdict on an answer while its suite still runs, for the progress line. Null if there is no answer, nothing to
 * judge, a check script, or a pattern that takes long. The evaluation after the run decides.
 */
export function earlyVerdict({ expected }: SuiteCase, artifact: CaseArtifact): 'pass' | 'fail' | null {
  if (artifact.runner_failure || !expected || expected.script) return null;
  try {
    const effort = new Effort({ each: STEPS_MAX, here: STEPS_MAX });
    const { assertions, isBroken } = judgeAnswer(expected, new Answer(artifact, effort));
    if (isBroken || assertions.every(({ status }) => status === 'not_judged')) return null;
    const verdict = verdictOf({ error_class: null, assertions });
    return verdict === 'error' ? null : verdict;
  } catch (error) {
    if (error instanceof TooMuchHere) return null;
    throw error;
  }
}

/** About a millisecond. */
const STEPS_MAX = 15_000;
