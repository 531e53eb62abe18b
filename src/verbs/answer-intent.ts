import { Fault } from '../base/fault.ts';
import { readIntentFolder } from '../evidence/intent/intent-folder.ts';
import type { RunFolder } from '../evidence/run-folder/runs.ts';
import { effectiveIntent } from '../run/intent/read-intent.ts';
import { type IntentMode, type Question, questionsOf } from '../run/intent/questions.ts';
import { AnswersFault } from './answers-fault.ts';
import { lifeOf } from './recover.ts';
import { type RemoteIntent, remoteProfile } from './remote-intent.ts';
import { wholeness } from './whole.ts';

/** The questions of an intent run, and what answering them needs. */
export interface OpenQuestions {
  readonly questions: readonly Question[];
  /** Everything but the answers. */
  readonly source: Omit<RemoteIntent, 'answers'>;
}

/** Reads the open questions from the evidence of a run. Throws a fault that says why they cannot be answered here. */
export async function openQuestions({ id, lane, folder }: RunFolder): Promise<OpenQuestions> {
  const { request, result, intent, bundle, policy } = readIntentFolder(folder);
  if (!request || !result) throw notAnswerable('This run is not a finished intent run.');
  if (result.kernel_result_kind !== 'CLARIFY') throw notAnswerable('This run asked no questions.');
  if (lifeOf({ id, lane, folder }) !== 'finished') throw notAnswerable('The run is not finished yet.');
  if (!(await wholeness(folder)).isWhole)
    throw notAnswerable('The run folder does not verify, so its questions cannot be trusted.');
  if (!intent || !bundle || !policy) throw notAnswerable('The evidence has no intent, plan or profile.');
  if (request.model_mode !== 'none')
    throw notAnswerable('A model planned this intent. Answer in a terminal, with the same recording.');
  if (policy.allow_network)
    throw notAnswerable('The profile of this run allows the network, which a server does not. Answer in a terminal.');
  const questions = questionsOf(intent, request.mode);
  const isSame = bundle.questions.every(({ id: asked }, index) => questions[index]?.id === asked);
  if (!isSame || questions.length !== bundle.questions.length)
    throw notAnswerable('Another version of Proctor asked these questions. Run the intent again first.');
  const name = request.intent.name.replace(/\.ya?ml$/i, '.json');
  const source = {
    intent: { name, bytes: effectiveIntent(intent).text },
    profile: remoteProfile(policy),
    mode: request.mode,
  };
  return { questions, source };
}

/** The intent of a run with answers to its questions, by the ids of the questions. Throws `AnswersFault`. */
export async function answeredIntent(
  place: RunFolder,
  answers: Readonly<Record<string, unknown>>,
  mode: IntentMode | undefined,
): Promise<RemoteIntent> {
  const { questions, source } = await openQuestions(place);
  const known = new Map(questions.map(question => [question.id, question]));
  const faults = Object.entries(answers).flatMap(([id, value]) => {
    const question = known.get(id);
    if (!question) return [{ field: id, message: 'This run did not ask this question.' }];
    const expected = question.answer(value);
    return typeof expected === 'string' ? [{ field: id, message: `The answer must be ${expected}.` }] : [];
  });
  if (faults.length > 0) throw new AnswersFault(faults);
  if (Object.keys(answers).length === 0) throw new Fault('invalid_input', 'Answer at least one question.');
  return {
    ...source,
    mode: mode ?? source.mode,
    // Evidence has only the name and the hash of the answers, so the name says which run they answer.
    answers: { name: `answers-to-${place.id}.json`, bytes: Buffer.from(JSON.stringify(answers)) },
  };
}

function notAnswerable(why: string): Fault {
  return new Fault('not_answerable', why);
}
