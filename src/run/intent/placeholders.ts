import { type AcceptCheck, type Intent, intent as contract } from '../../contracts/intent/index.ts';
import { type TextKind, mayHold, partsOf } from './placeholder-words.ts';
import { IntentFault } from './intent-fault.ts';

/** A placeholder for something that the author left open. */
export interface Placeholder {
  /** The key of its answer: the name in `<name>`, or the path of a word such as TBD. */
  readonly key: string;
  /** As written in the intent. */
  readonly word: string;
  /** The first paths where it occurs, such as `commands[0].argv[1]`. */
  readonly places: readonly string[];
}

/** Every placeholder of an intent. File contents, patterns and schemas have none: `<html>` is HTML. */
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

/** Replaces placeholders with their answers. */
export function filledIn(intent: Intent, answers: ReadonlyMap<string, string>): Intent {
  let added = 0;
  /** A placeholder may occur a million times, and its answer may be long. */
  const counted = (answer: string): string => {
    added += answer.length;
    if (added > contract.bytesMax)
      throw new IntentFault('intent_invalid', 'With its answers, the intent exceeds its size limit.');
    return answer;
  };
  const fill: Fill = (text, place, kind) => {
    if (!mayHold(text)) return text;
    const forPlace = answers.get(place);
    return partsOf(text, kind)
      .map(({ text: part, named, open }) => {
        const filled = named ? part.replace(named, (...match) => filledName(match, answers, counted)) : part;
        // A function, because a string replacement would interpret $1.
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

/** Returns the matching group. The offset and the whole string follow the groups. */
function nameIn(groups: readonly unknown[]): string {
  const name = groups.find(group => typeof group === 'string');
  return typeof name === 'string' ? name : '';
}

function* wordsIn(text: string, place: string, kind: TextKind): Generator<{ key: string; word: string }> {
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

/** Whether a path or an argument still contains a placeholder, so that Proctor cannot refuse it yet. */
export function isOpen(text: string, kind: TextKind = 'path'): boolean {
  return !wordsIn(text, '', kind).next().done;
}

const PLACES_MAX = 3;
const PLACEHOLDERS_MAX = 100;

interface Text {
  readonly place: string;
  readonly text: string;
  readonly kind: TextKind;
}

/**
 * The strings that may contain a placeholder, with their paths. Builds no paths for other strings: there may be a
 * million.
 */
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

/** `grep TODO` searches for the word, and `sh -c` runs a shell line. */
function kindOf(argv: readonly string[], word: number): TextKind {
  const [program = ''] = argv;
  if (word > 0 && /^(?:[ef]?grep|rg|ag|ack|sed|awk)$/.test(program)) return 'search';
  const isLine = /^(?:ba|da|z|k)?sh$/.test(program) && /^-[a-z]{0,8}c$/.test(argv[word - 1] ?? '');
  return isLine ? 'shell' : 'argument';
}

type Fill = (text: string, place: string, kind: TextKind) => string;

/** Replaces each of these strings. */
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
