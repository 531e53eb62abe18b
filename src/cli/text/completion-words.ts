import type { Argument, Command, Option } from 'commander';
import { contractNames } from '../../contracts/catalogue.ts';

/** A command as a completion script needs it. The names of commands, flags and values contain no quotes or spaces. */
export interface CompletedCommand {
  /** The words after `proctor`, such as `run suite`; empty for `proctor` itself. */
  readonly path: string;
  readonly below: readonly { readonly name: string; readonly about: string }[];
  readonly flags: readonly CompletedFlag[];
  readonly places: readonly Completed[];
  /** The last position takes any number of words. */
  readonly isOpen: boolean;
}

interface CompletedFlag {
  readonly names: readonly string[];
  readonly about: string;
  /** What completes its value; undefined if it takes none. */
  readonly value: Completed | undefined;
}

/** What may appear at one position of a command line. All of it can be listed without starting a program. */
export interface Completed {
  readonly words: readonly string[];
  readonly runs: boolean;
  readonly cases: boolean;
  readonly files: 'any' | 'folders' | undefined;
}

export function completedCommands(command: Command, path: readonly string[] = []): CompletedCommand[] {
  const places = command.registeredArguments;
  const own: CompletedCommand = {
    path: path.join(' '),
    below: command.commands.map(below => ({ name: below.name(), about: below.description() })),
    flags: command.createHelp().visibleOptions(command).map(flagOf),
    places: places.map(place => placeOf(path.join(' '), place, command.parent)),
    isOpen: places.at(-1)?.variadic === true,
  };
  return [own, ...command.commands.flatMap(below => completedCommands(below, [...path, below.name()]))];
}

function flagOf(option: Option): CompletedFlag {
  const [, name] = /[<[]([a-z]+)/.exec(option.flags) ?? [];
  const names = [option.short, option.long].filter(flag => flag !== undefined);
  const known = VALUES[option.long ?? ''] ?? (name === undefined ? undefined : NAMED[name]);
  const takes = option.argChoices ? { words: option.argChoices } : known;
  const isAsked = option.required || option.optional;
  return { names, about: option.description, value: isAsked ? { ...NOTHING, ...takes } : undefined };
}

function placeOf(path: string, place: Argument, parent: Command | null): Completed {
  // `help` takes the names of the commands beside it.
  if (place.name() === 'command' && parent) return { ...NOTHING, words: parent.commands.map(one => one.name()) };
  const known = PLACES[`${path} ${place.name()}`] ?? NAMED[place.name()];
  return { ...NOTHING, ...(place.argChoices ? { words: place.argChoices } : known) };
}

const NOTHING: Completed = { words: [], runs: false, cases: false, files: undefined };
const FILES = { files: 'any' } as const;
const RUNS = { runs: true, files: 'any', words: ['latest'] } as const;

/** By the name of an argument or of a flag's value. */
const NAMED: Readonly<Record<string, Partial<Completed>>> = {
  file: FILES,
  path: FILES,
  folder: { files: 'folders' },
  run: RUNS,
  subject: RUNS,
  cases: FILES,
  target: FILES,
  pack: FILES,
  args: FILES,
  case: { cases: true },
};

/** By the command and the name of its argument. */
const PLACES: Readonly<Record<string, Partial<Completed>>> = {
  'compare baseline': { ...RUNS, words: ['baseline', 'latest'] },
  'compare new': { ...RUNS, words: ['new', 'latest'] },
  'compare more': { ...RUNS, words: ['new', 'latest'] },
  'history case': {},
  'gate baseline': FILES,
  'gate new': FILES,
  'verify path': RUNS,
  'explain word': { words: contractNames },
  'schema name': { words: contractNames },
  'example name': { words: contractNames },
};

/** By flag, for values that are names or files. */
const VALUES: Readonly<Record<string, Partial<Completed>>> = {
  '--agent': { words: ['claude', 'codex'] },
  '--as': { words: contractNames },
  '--forbid': { words: ['commit', 'push', 'delete', 'force', 'configure'] },
  '--format': { words: ['html', 'junit', 'md', 'json', 'terminal'] },
  '--gate': { ...FILES, words: ['balanced', 'proven', 'strict'] },
  '--report': { words: ['html', 'junit', 'md', 'json'] },
  '--policy': { ...FILES, words: ['read-only', 'edit', 'open', 'strict', 'default', 'dev'] },
  '--profile': { ...FILES, words: ['strict', 'default', 'dev'] },
};
