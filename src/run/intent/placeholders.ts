import { type AcceptCheck, type Intent, intent as contract } from '../../contracts/intent/index.ts';
import { type Kind, mayHold, partsOf } from './placeholder-words.ts';
import { IntentFault } from './trouble.ts';

/** Something that stands in an intent for what its author has not said. */
export interface Placeholder {
  /** What an answer is filed under: the name in `<name>`, or the place of a word such as TBD. */
  readonly key: string;
  /** As it stands there. */
  readonly word: string;
  /** Where, as `commands[0].argv[1]`; the first places only. */
  readonly places: readonly string[];
}

/** Every placeholder in the words of an intent. Contents of files, patterns and schemas are the author's own: `<html>` is none of ours. */
export function placeholdersIn(intent: Intent): Placeholder[] {
  const found = new Map<string, { word: string; places: string[] }>();
  for (const { place, text, kind } of textsOf(intent)) {
    for (const { key, word } of wordsIn(text, place, kind)) {
      const known = found.get(key) ?? { word, places: [] };
      found.set(key, known);
      if (known.places.length < PLACES_MAX && !known.places.includes(place)) known.places.push(place);
      if (found.size >= PLACEHOLDERS_MAX) return listed(found);
    }
  }
  return listed(found);
}

const listed = (found: ReadonlyMap<string, { word: string; places: string[] }>): Placeholder[] =>
  [...found].map(([key, { word, places }]) => ({ key, word, places }));

/** Puts what was answered where the placeholders stand. */
export function filledIn(intent: Intent, answers: ReadonlyMap<string, string>): Intent {
  let added = 0;
  /** A placeholder may stand in a million places, and its answer may be a book. */
  const counted = (answer: string): string => {
    added += answer.length;
    if (added > contract.bytesMax)
      throw new IntentFault('intent_invalid', 'With its answers filled in, the intent is larger than it may be.');
    return answer;
  };
  const fill: Fill = (text, place, kind) => {
    if (!mayHold(text)) return text;
    const forPlace = answers.get(place);
    return partsOf(text, kind)
      .map(({ text: part, named, open }) => {
        const filled = named ? part.replace(named, (...match) => filledName(match, answers, counted)) : part;
        // A function, because a text would be searched for signs such as $1.
        return forPlace === undefined || !open ? filled : filled.replace(open, () => counted(forPlace));
      })
      .join('');
  };
  return mapTexts(intent, fill);
}

function filledName(
  [whole, ...groups]: readonly unknown[],
  answers: ReadonlyMap<string, string>,
  counted: (answer: string) => string,
): string {
  const answer = answers.get(nameIn(groups));
  return answer === undefined ? String(whole) : counted(answer);
}

/** The group that took part; the offset and the text follow those that did not. */
function nameIn(groups: readonly unknown[]): string {
  const name = groups.find(group => typeof group === 'string');
  return typeof name === 'string' ? name : '';
}

function* wordsIn(text: string, place: string, kind: Kind): Generator<{ key: string; word: string }> {
  if (!mayHold(text)) return;
  let isOpenHere = false;
  for (const { text: part, named, open } of partsOf(text, kind)) {
    if (named) for (const [word, ...groups] of part.matchAll(named)) yield { key: nameIn(groups), word };
    const [first] = (!isOpenHere && open && part.matchAll(open).next().value) || [];
    if (first === undefined) continue;
    isOpenHere = true;
    yield { key: place, word: first };
  }
}

/** Whether a path, or a word for programs, is still to be said. What will stand there, nobody can refuse yet. */
export function isOpen(text: string, kind: Kind = 'path'): boolean {
  return !wordsIn(text, '', kind).next().done;
}

const PLACES_MAX = 3;
const PLACEHOLDERS_MAX = 100;

interface Text {
  readonly place: string;
  readonly text: string;
  readonly kind: Kind;
}

/** The texts that may hold one, each with its place. There may be a million others, for which no place is made. */
function* textsOf(intent: Intent): Generator<Text> {
  const { goal, constraints = [], files = [], commands = [], outputs = [], accept = [] } = intent;
  yield { place: 'goal', text: goal, kind: 'prose' };
  for (const [index, text] of constraints.entries())
    if (mayHold(text)) yield { place: `constraints[${index}]`, text, kind: 'prose' };
  for (const [index, { path }] of files.entries())
    if (mayHold(path)) yield { place: `files[${index}].path`, text: path, kind: 'path' };
  for (const [index, command] of commands.entries()) yield* textsOfCommand(command, `commands[${index}]`);
  for (const [index, text] of outputs.entries())
    if (mayHold(text)) yield { place: `outputs[${index}]`, text, kind: 'path' };
  for (const [index, { path }] of accept.entries())
    if (path !== undefined && mayHold(path)) yield { place: `accept[${index}].path`, text: path, kind: 'path' };
}

type Command = NonNullable<Intent['commands']>[number];

function* textsOfCommand({ argv = [], shell, makes = [] }: Command, at: string): Generator<Text> {
  for (const [word, text] of argv.entries())
    if (mayHold(text)) yield { place: `${at}.argv[${word}]`, text, kind: kindOf(argv, word) };
  if (shell !== undefined) yield { place: `${at}.shell`, text: shell, kind: 'shell' };
  for (const [index, text] of makes.entries())
    if (mayHold(text)) yield { place: `${at}.makes[${index}]`, text, kind: 'path' };
}

/** `grep TODO` looks for the word, and what stands after `sh -c` is a line for a shell. */
function kindOf(argv: readonly string[], word: number): Kind {
  const [program = ''] = argv;
  if (word > 0 && /^(?:[ef]?grep|rg|ag|ack|sed|awk)$/.test(program)) return 'search';
  const isLine = /^(?:ba|da|z|k)?sh$/.test(program) && /^-[a-z]{0,8}c$/.test(argv[word - 1] ?? '');
  return isLine ? 'shell' : 'argument';
}

type Fill = (text: string, place: string, kind: Kind) => string;

/** The same places, each text made anew. */
function mapTexts(intent: Intent, fill: Fill): Intent {
  const { goal, constraints, files, commands, outputs, accept } = intent;
  return {
    ...intent,
    goal: fill(goal, 'goal', 'prose'),
    ...(constraints && { constraints: constraints.map((text, index) => fill(text, `constraints[${index}]`, 'prose')) }),
    ...(files && {
      files: files.map(({ path, content }, index) => ({ path: fill(path, `files[${index}].path`, 'path'), content })),
    }),
    ...(commands && { commands: commands.map((command, index) => filledCommand(command, `commands[${index}]`, fill)) }),
    ...(outputs && { outputs: outputs.map((text, index) => fill(text, `outputs[${index}]`, 'path')) }),
    ...(accept && { accept: accept.map((check, index) => filledCheck(check, `accept[${index}]`, fill)) }),
  };
}

function filledCheck(check: AcceptCheck, at: string, fill: Fill): AcceptCheck {
  return check.path === undefined ? check : { ...check, path: fill(check.path, `${at}.path`, 'path') };
}

function filledCommand(command: Command, at: string, fill: Fill): Command {
  const { argv, shell, makes } = command;
  return {
    ...command,
    ...(argv && {
      argv: argv.map((text, word) => fill(text, `${at}.argv[${word}]`, kindOf(argv, word))),
    }),
    ...(shell !== undefined && { shell: fill(shell, `${at}.shell`, 'shell') }),
    ...(makes && { makes: makes.map((text, index) => fill(text, `${at}.makes[${index}]`, 'path')) }),
  };
}
