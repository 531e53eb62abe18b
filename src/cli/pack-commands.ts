import type { Command } from 'commander';
import { collect } from './units.ts';

/** The commands that take a run somewhere else: into one file and out of it, and its changes to where they belong. */
export function addPackCommands(program: Command, ended: (code: number) => void): void {
  program
    .command('pack')
    .description('Make one file of a run: its folder as it was sealed, and its line of the ledger.')
    .argument('[run]', 'a path, an id, the beginning of one, or latest', 'latest')
    .option('--out <file>', 'where to write it (default: <run id>.proctor.tar, here); nothing is written over')
    .option('--internal', 'pack the internal files, too, which are not for end users')
    .option('--json', 'answer with one JSON document')
    .addHelpText('after', PACK_EXITS)
    .action(async (run: string, flags) => {
      const { packCommand } = await import('./pack.ts');
      ended(await packCommand(run, flags));
    });

  program
    .command('unpack')
    .description('Verify a pack, then make the folder of the run in it.')
    .argument('<pack>', 'a file that proctor pack has written')
    .option('--to <folder>', 'the folder to make (default: the id of the run, here); it must not be there yet')
    .option('--json', 'answer with one JSON document')
    .addHelpText('after', UNPACK_EXITS)
    .action(async (file: string, flags) => {
      const { unpackCommand } = await import('./pack.ts');
      ended(await unpackCommand(file, flags));
    });

  program
    .command('apply')
    .description('Bring what an agent changed to a work tree, all of it or nothing. Nothing is committed.')
    .argument('[run]', 'a path, an id, the beginning of one, or latest', 'latest')
    .option('--dir <folder>', 'the work tree, or a folder in it (default: here)')
    .option('--check', 'only say whether it would work')
    .option('--anyway', 'also where the agent did not complete its task')
    .option(
      '--allow-active <path>',
      'a file to apply although it runs by itself, by its exact path; may be repeated',
      collect,
    )
    .option('--json', 'answer with one JSON document')
    .addHelpText('after', APPLY_EXITS)
    .action(async (run: string, flags) => {
      const { applyCommand } = await import('./apply.ts');
      ended(await applyCommand(run, flags));
    });
}

const PACK_EXITS = `
The same folder, with the same line of the ledger or without one, gives the same bytes on any machine and at any time.

Exit codes:
  0  packed
  1  the run does not verify; nothing was written
  2  there is no such run, the file is there already, or a fault of the machine`;

const UNPACK_EXITS = `
Exit codes:
  0  unpacked
  1  the pack does not verify; nothing was written
  2  the folder is there already, or a fault of the machine`;

const APPLY_EXITS = `
Exit codes:
  0  applied, or there was nothing to apply
  1  the run does not verify, broke its policy or is not whole, its changes do not fit, or a file that runs by itself
     was not named with --allow-active; nothing was changed
  2  there is no such run or folder, or a fault of the machine`;
