import { Fault } from '../../base/fault.ts';
import type { CaseArtifact } from '../../contracts/artifacts/index.ts';
import type { AcceptCheck, IntentOutcome } from '../../contracts/intent/index.ts';
import type { Expected } from '../../contracts/suite/index.ts';
import { type Files, judgeChecks } from './accept.ts';
import { Answer } from './answer.ts';
import { Effort, STEPS_HERE_MAX, TooMuchHere } from './effort.ts';
import { type JudgedExpectations, judgeAnswer } from './expectations.ts';
import type { JudgeTask } from './judge-thread.ts';

/** Runs slow judgements in a worker thread. Fails with a `cancelled` fault if the user stops it. */
export type JudgeApart = (question: JudgeTask) => Promise<unknown>;

/** Judges an answer in this thread, or in a worker thread if that takes too long. */
export function judgeAnswerSomewhere(
  expected: Expected,
  artifact: CaseArtifact,
  { effort, judgeApart }: { readonly effort: Effort; readonly judgeApart: JudgeApart | undefined },
): JudgedExpectations | Promise<JudgedExpectations> {
  try {
    return judgeAnswer(expected, new Answer(artifact, effort));
  } catch (error) {
    if (!(error instanceof TooMuchHere)) throw error;
    const briefly = (): JudgedExpectations =>
      judgeAnswer(expected, new Answer(artifact, new Effort({ each: BRIEF_STEPS_MAX })));
    return judgeApart ? judgedApart<JudgedExpectations>(judgeApart({ expected, artifact }), briefly) : briefly();
  }
}

/** Judges the checks of an intent on its outputs in `folder`. */
export async function judgeAccept(
  checks: readonly AcceptCheck[],
  folder: string,
  files: Files,
  judgeApart?: JudgeApart,
): Promise<IntentOutcome['checks']> {
  try {
    return judgeChecks(checks, folder, files, STEPS_HERE_MAX);
  } catch (error) {
    if (!(error instanceof TooMuchHere)) throw error;
    const briefly = (): IntentOutcome['checks'] => judgeChecks(checks, folder, files, undefined, BRIEF_STEPS_MAX);
    return judgeApart ? judgedApart(judgeApart({ checks, folder, files }), briefly, briefly) : briefly();
  }
}

/** Falls back to `ifItDied` if the thread died, for example because it ran out of memory. */
async function judgedApart<Judged>(
  judging: Promise<unknown>,
  ifItDied: () => Judged,
  ifCancelled?: () => Judged,
): Promise<Judged> {
  try {
    return (await judging) as Judged;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    if (error.code !== 'cancelled') return ifItDied();
    if (ifCancelled) return ifCancelled();
    throw error;
  }
}

/** Without a worker thread, patterns that need more steps than this are not judged. */
const BRIEF_STEPS_MAX = 1_000_000;
