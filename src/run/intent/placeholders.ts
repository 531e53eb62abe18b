import { type Intent, intent as contract } from '../../contracts/intent/index.ts';
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

/** Every placeholder in the words of an intent. Contents of files are the author's own: `<html>` is none of ours. */
export function placeholdersIn(intent: Intent): Placeholder[] {
  const found = new Map<string, { word: string; places: string[] }>();
  for (const { place, text, isProse } of textsOf(intent)) {
    for (const { key, word } of wordsIn(text, place, isProse)) {
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
  const fill = (text: string, place: string, isProse: boolean): string => {
    if (!mayHold(text)) return text;
    const named = text.replace(isProse ? NAMED : WHOLE, (whole: string, before: string, name: string) => {
      const answer = answers.get(name);
      return answer === undefined ? whole : `${before}${counted(answer)}`;
    });
    const answer = answers.get(place);
    // A function, because a text would be searched for signs such as $1.
    return answer === undefined ? named : named.replace(isProse ? EVERY_OPEN : OPEN_WHOLE, () => counted(answer));
  };
  return mapTexts(intent, fill);
}

function* wordsIn(text: string, place: string, isProse: boolean): Generator<{ key: string; word: string }> {
  for (const [, , name = ''] of text.matchAll(isProse ? NAMED : WHOLE)) yield { key: name, word: `<${name}>` };
  const [open] = (isProse ? OPEN : OPEN_WHOLE).exec(text) ?? [];
  if (open !== undefined) yield { key: place, word: open.trim() };
}

/** Whether a word for programs, or a path, is still to be said. What will stand there, nobody can refuse yet. */
export function isOpen(text: string): boolean {
  return mayHold(text) && (text.search(WHOLE) >= 0 || OPEN_WHOLE.test(text));
}

/** Most texts hold none, and are not searched twice. */
function mayHold(text: string): boolean {
  return text.includes('<') || MAY_BE_OPEN.test(text);
}

/** In prose, `<name>` wherever it stands; in words for programs only as a whole word, or after `=`. */
const NAMED = /(^|[^\w<])<([a-z][a-z0-9 _-]{0,39})>/gi;
const WHOLE = /^((?:[\w./-]{1,100}=)?)<([a-z][a-z0-9 _-]{0,39})>$/gi;

const MAY_BE_OPEN = /TB[DAC]|FIXME|XXX|TODO|\?\?\?|to be/i;
const OPEN =
  /\b(?:TBD|TBA|TBC|FIXME|XXX)\b|\bTODO\b(?=\s*(?:[:.)\]]|$))|\?\?\?|\bto be (?:determined|defined|decided|announced)\b/;
const EVERY_OPEN = new RegExp(OPEN.source, 'g');
const OPEN_WHOLE = /^(?:TBD|TBA|TBC|FIXME|XXX|TODO|\?\?\?)$/;

const PLACES_MAX = 3;
const PLACEHOLDERS_MAX = 100;

/** The texts that may hold one, each with its place. There may be a million others, for which no place is made. */
function* textsOf(intent: Intent): Generator<{ place: string; text: string; isProse: boolean }> {
  const { goal, constraints = [], files = [], commands = [], outputs = [] } = intent;
  yield { place: 'goal', text: goal, isProse: true };
  for (const [index, text] of constraints.entries())
    if (mayHold(text)) yield { place: `constraints[${index}]`, text, isProse: true };
  for (const [index, { path }] of files.entries())
    if (mayHold(path)) yield { place: `files[${index}].path`, text: path, isProse: false };
  for (const [index, { argv = [], shell }] of commands.entries()) {
    for (const [word, text] of argv.entries())
      if (mayHold(text)) yield { place: `commands[${index}].argv[${word}]`, text, isProse: false };
    if (shell !== undefined) yield { place: `commands[${index}].shell`, text: shell, isProse: false };
  }
  for (const [index, text] of outputs.entries())
    if (mayHold(text)) yield { place: `outputs[${index}]`, text, isProse: false };
}

/** The same places, each text made anew. */
function mapTexts(intent: Intent, fill: (text: string, place: string, isProse: boolean) => string): Intent {
  const { goal, constraints, files, commands, outputs } = intent;
  return {
    ...intent,
    goal: fill(goal, 'goal', true),
    ...(constraints && { constraints: constraints.map((text, index) => fill(text, `constraints[${index}]`, true)) }),
    ...(files && {
      files: files.map(({ path, content }, index) => ({ path: fill(path, `files[${index}].path`, false), content })),
    }),
    ...(commands && { commands: commands.map((command, index) => filledCommand(command, `commands[${index}]`, fill)) }),
    ...(outputs && { outputs: outputs.map((text, index) => fill(text, `outputs[${index}]`, false)) }),
  };
}

type Command = NonNullable<Intent['commands']>[number];

function filledCommand(command: Command, at: string, fill: (text: string, place: string, isProse: boolean) => string) {
  const filled: Command = { ...command };
  if (command.argv) filled.argv = command.argv.map((text, word) => fill(text, `${at}.argv[${word}]`, false));
  if (command.shell !== undefined) filled.shell = fill(command.shell, `${at}.shell`, false);
  return filled;
}
