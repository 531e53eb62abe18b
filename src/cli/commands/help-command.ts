import type { Command } from 'commander';
import { nearestWord } from '../../base/nearest.ts';

/** Adds `help [command...]` to every command that has subcommands. Commander's own `help` ignores unknown names. */
export function addHelpCommands(command: Command): void {
  if (command.commands.length === 0) return;
  for (const below of command.commands) addHelpCommands(below);
  command
    .helpCommand(false)
    .command('help')
    .description('Show help for a command')
    .argument('[command...]', 'command, such as run suite')
    .helpOption(false)
    .action((words: readonly string[]) => commandAt(command, words).help());
}

function commandAt(root: Command, words: readonly string[]): Command {
  let found = root;
  for (const word of words) {
    const below = found.commands.find(command => command.name() === word);
    if (!below) unknown(found, word);
    found = below;
  }
  return found;
}

/** Uses Commander's wording for an unknown command. */
function unknown(command: Command, word: string): never {
  const near = nearestWord(
    word,
    command.commands.map(below => below.name()),
  );
  const hint = near === undefined ? '' : `\n(Did you mean ${near}?)`;
  return command.error(`error: unknown command '${word}'${hint}`, { code: 'commander.unknownCommand' });
}
