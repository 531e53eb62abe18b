/** The entry point of the worker thread for slow judgements. The build bundles it as a separate module. */
import type { CaseArtifact } from '../../contracts/artifacts/index.ts';
import type { AcceptCheck, IntentOutcome } from '../../contracts/intent/index.ts';
import type { Expected } from '../../contracts/suite/index.ts';
import { type Files, judgeChecks } from './accept.ts';
import { Answer } from './answer.ts';
import { type JudgedExpectations, judgeAnswer } from './expectations.ts';

export type JudgeTask =
  | { readonly expected: Expected; readonly artifact: CaseArtifact }
  | { readonly checks: readonly AcceptCheck[]; readonly folder: string; readonly files: Files };

export default function answerJudgement(question: JudgeTask): JudgedExpectations | IntentOutcome['checks'] {
  if ('checks' in question) return judgeChecks(question.checks, question.folder, question.files);
  return judgeAnswer(question.expected, new Answer(question.artifact));
}
