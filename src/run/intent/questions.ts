import { foldersAbove, idOf, type Intent } from '../../contracts/intent/index.ts';
import { type Contradiction, contradictionsIn } from './constraints.ts';
import type { Edit } from './edits.ts';
import { isOpen, type Placeholder, placeholdersIn } from './placeholders.ts';
import { quotedText } from './words.ts';

export type IntentMode = 'plan-only' | 'execute-sandbox';

/** A question that a person must answer before an intent becomes a plan. */
export interface Question {
  readonly id: string;
  /** The key of its answer. */
  readonly key: string;
  readonly text: string;
  readonly expects: ExpectedAnswer;
  /** Returns the edits for an answer, or a description of the expected answer. */
  readonly answer: (value: unknown) => readonly Edit[] | string;
}

/**
 * The form of an answer: a text or number, one of several values, the words of a command (or false), or an object with
 * commands, files, outputs, accept and limits.
 */
type ExpectedAnswer =
  | { readonly kind: 'text' | 'command' | 'plan' }
  | { readonly kind: 'choice'; readonly choices: readonly (string | number | boolean)[] };

type Ask = Omit<Question, 'id'>;

/** Asks about gaps and contradictions in an intent, in a fixed order and up to a limit. */
export function questionsOf(intent: Intent, mode: IntentMode): Question[] {
  const questions = [
    ...placeholdersIn(intent).map(ofPlaceholder),
    ...contradictionsIn(intent).map(ofContradiction),
    ...unmadeOutputs(intent),
    ...strayChecks(intent),
    ...nothingToDo(intent, mode),
  ];
  return questions.slice(0, QUESTIONS_MAX).map(asked);
}

const QUESTIONS_MAX = 200;

/** Whether the intent has commands to run. */
export function hasCommands({ commands = [] }: Intent): boolean {
  return commands.length > 0;
}

function asked(question: Ask): Question {
  // The text alone must show which key to answer.
  const text = `${question.key}: ${question.text}`;
  return { ...question, text, id: idOf('q', { key: question.key, text }) };
}

function ofPlaceholder({ key, word, places }: Placeholder): Ask {
  return {
    key,
    text: `What should stand in place of ${word} in ${places.join(', ')}?`,
    expects: { kind: 'text' },
    answer: value =>
      typeof value === 'string' || typeof value === 'number'
        ? [{ fill: key, with: String(value) }]
        : 'a text or a number',
  };
}

function ofContradiction({ index, against, because, limit }: Contradiction): Ask {
  const place = `constraints[${index}]`;
  const others = limit ? [{ limit: limit.name, value: limit.value }] : dropOf(against);
  const isOther = others.length > 0;
  return {
    // One constraint may have several contradictions.
    key: `${place} or ${against}`,
    text: isOther
      ? `They contradict each other: ${because}. Which of the two holds? Answer with "${place}" or "${against}".`
      : `They contradict each other: ${because}. Answer with "${against}" to drop the constraint, or change the intent.`,
    expects: { kind: 'choice', choices: isOther ? [place, against] : [against] },
    answer: value => {
      if (value === place && isOther) return others;
      if (value === against) return [{ drop: 'constraints', index }];
      return isOther ? `"${place}" or "${against}"` : `"${against}"`;
    },
  };
}

/** The edit that satisfies a constraint. */
function dropOf(against: string): readonly Edit[] {
  const [, index] = /^constraints\[(\d+)\]$/.exec(against) ?? [];
  if (index !== undefined) return [{ drop: 'constraints', index: Number(index) }];
  return against === 'network' ? [{ network: false }] : [];
}

/** Outputs that neither a staged file nor a command creates. */
function unmadeOutputs({ outputs = [], files = [], commands = [] }: Intent): Ask[] {
  // A command without `makes` may make anything.
  if (outputs.length === 0 || commands.some(({ makes }) => makes === undefined)) return [];
  const made = new Set([...files.map(({ path }) => path), ...commands.flatMap(({ makes = [] }) => makes)]);
  const folders = new Set([...made].flatMap(foldersAbove));
  // A command that makes a folder makes everything in it. One that makes a file makes its parent folders.
  const isMade = (output: string): boolean =>
    made.has(output) || folders.has(output) || foldersAbove(output).some(folder => made.has(folder));
  return outputs.flatMap((output, index) => (isMade(output) || isOpen(output) ? [] : [ofOutput(output, index)]));
}

function ofOutput(output: string, index: number): Ask {
  const key = `outputs[${index}].command`;
  return {
    key,
    text: `The output ${quotedText(output)} is made by no command and put in place by no file. Which command makes it? Answer with its words as a list, or false to leave the output out.`,
    expects: { kind: 'command' },
    answer: value => {
      if (value === false) return [{ drop: 'outputs', index }];
      const isArgv = Array.isArray(value) && value.length > 0 && value.every(word => typeof word === 'string');
      return isArgv ? [{ run: value, makes: [output] }] : 'a list of words, or false';
    },
  };
}

/** Checks that can never pass: on a file that is not an output, or for an exit code other than 0. */
function strayChecks({ accept = [], outputs = [] }: Intent): Ask[] {
  const all = new Set(outputs);
  const isOutput = (path: string): boolean => all.has(path) || foldersAbove(path).some(folder => all.has(folder));
  return accept.flatMap(({ check, equals = 0, path = '' }, index) => {
    if (check === 'exit_code') return equals === 0 ? [] : [ofExitCode(equals, index)];
    return isOutput(path) || isOpen(path) ? [] : [ofStrayFile(path, index)];
  });
}

function ofExitCode(equals: number, index: number): Ask {
  const key = `accept[${index}]`;
  return {
    key,
    text: `The check expects exit code ${equals}, but a run is accepted only if its commands end with 0. Answer with 0 to expect that, or false to leave the check out.`,
    expects: { kind: 'choice', choices: [0, false] },
    answer: value => {
      if (value === false) return [{ drop: 'accept', index }];
      return value === 0 ? [{ expectZero: index }] : '0 or false';
    },
  };
}

function ofStrayFile(path: string, index: number): Ask {
  const key = `accept[${index}]`;
  return {
    key,
    text: `The check looks at ${quotedText(path)}, which is not among the outputs. Is it one? Answer with true to add it, or false to leave the check out.`,
    expects: { kind: 'choice', choices: [true, false] },
    answer: value => {
      if (value === true) return [{ output: path }];
      return value === false ? [{ drop: 'accept', index }] : 'true or false';
    },
  };
}

/** A goal without commands, files or outputs is not a plan, in any mode. */
function nothingToDo(intent: Intent, mode: IntentMode): Ask[] {
  const { files = [], outputs = [] } = intent;
  if (hasCommands(intent)) return [];
  if (files.length === 0 && outputs.length === 0) return [NOTHING_MAKES_IT_SO];
  return mode === 'execute-sandbox' ? [NOTHING_TO_RUN] : [];
}

const WHAT_TO_DO: Omit<Ask, 'text'> = {
  key: 'commands',
  expects: { kind: 'plan' },
  answer: value =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? [{ merge: value as Record<string, unknown> }]
      : 'an object with commands, files, outputs or accept',
};

const NOTHING_TO_RUN: Ask = {
  ...WHAT_TO_DO,
  text: 'What should be run? The intent has no commands. Answer with an object that has commands, and files, outputs or accept.',
};

const NOTHING_MAKES_IT_SO: Ask = {
  ...WHAT_TO_DO,
  text: 'What makes it so? The intent has a goal, but no commands, files or outputs. Answer with an object that has them, and accept if you like; or let an agent plan it, with --planner and --model-mode record.',
};
