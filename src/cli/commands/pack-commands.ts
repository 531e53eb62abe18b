import type { Command } from 'commander';
import { HELP } from '../text/help.ts';
import { collect } from '../text/units.ts';

/** The commands that move a run or its changes elsewhere. */
export function addPackCommands(program: Command, ended: (code: number) => void): void {
  program
    .command('pack')
    .description('Pack a sealed run and its ledger line into one file')
    .argument('[run]', HELP.run, 'latest')
    .option('--out <file>', 'file to write (default: <run id>.proctor.tar); must not exist')
    .option('--internal', 'include internal files, which are not meant for end users')
    .option('--json', HELP.json)
    .addHelpText('after', PACK_EXITS)
    .action(async (run: string, flags) => {
      const { packCommand } = await import('./pack.ts');
      ended(await packCommand(run, flags));
    });

  program
    .command('unpack')
    .description('Verify a pack and extract its run folder')
    .argument('<pack>', 'file written by proctor pack')
    .option('--to <folder>', 'folder to create (default: the run id); must not exist')
    .option('--json', HELP.json)
    .addHelpText('after', UNPACK_EXITS)
    .action(async (file: string, flags) => {
      const { unpackCommand } = await import('./pack.ts');
      ended(await unpackCommand(file, flags));
    });

  addMergeCommand(program, ended);

  program
    .command('apply')
    .description("Apply an agent's changes to a work tree or a new branch, all or nothing")
    .argument('[run]', HELP.runOrAttempts, 'latest')
    .option('--dir <folder>', 'work tree, or a folder in it (default: .)')
    .option('--branch <name>', 'bring the commits to this new branch instead; the work tree stays unchanged')
    .option('--check', 'check whether the changes apply, without applying them')
    .option('--anyway', 'apply even if the agent did not complete its task')
    .option('--allow-failed-checks', 'apply even if a check failed or did not run')
    .option(
      '--allow-active <path>',
      'apply this file even though it runs automatically; exact path, repeatable',
      collect,
    )
    .option('--json', HELP.json)
    .addHelpText('after', APPLY_EXITS)
    .action(async (run: string, flags) => {
      const { applyCommand } = await import('./apply.ts');
      ended(await applyCommand(run, flags));
    });
}

function addMergeCommand(program: Command, ended: (code: number) => void): void {
  program
    .command('merge')
    .description('Join the parts of a suite that ran with --shard into one sealed run')
    .argument('<part...>', 'parts: run folders, run ids, packs, or folders with packs')
    .option('--partial', 'merge even if parts are missing; the run says which')
    .option(
      '--key <file>',
      "public key that must have signed the parts; repeatable (default: this project's key)",
      collect,
    )
    .option('--revoked <file>', 'public key that must not have signed a part; repeatable', collect)
    .option('--json', HELP.json)
    .addHelpText('after', MERGE_EXITS)
    .action(async (parts: string[], flags) => {
      const { mergeCommand } = await import('./merge.ts');
      ended(await mergeCommand(parts, flags));
    });
}

const PACK_EXITS = `
The same run folder and ledger line give the same bytes on every machine.

Exit codes:
  0  packed
  1  the run does not verify; nothing was written
  2  no such run, the file exists, or a machine fault`;

const UNPACK_EXITS = `
Exit codes:
  0  unpacked
  1  the pack does not verify; nothing was written
  2  the folder exists, or a machine fault`;

const MERGE_EXITS = `
Every case keeps its bytes and the seal of the part that made it. The parts stay unchanged.

Exit codes:
  0  merged
  1  a part does not verify or contradicts another; nothing was written
  2  bad usage, or a machine fault
  3  parts are missing; nothing was written, except with --partial

Examples:
  proctor merge part-1.proctor.tar part-2.proctor.tar
  proctor merge parts                  every pack in this folder
  proctor merge parts --key ci.pub     only parts that this key signed`;

const APPLY_EXITS = `
Exit codes:
  0  applied, or nothing to apply
  1  nothing was changed: the run does not verify, violated its policy or is incomplete, its changes do not apply, or a
     file that runs automatically was not named with --allow-active
  2  no such run or folder, or a machine fault`;
