import { type Command, Option } from 'commander';
import { addAgentCommand } from './agent-commands.ts';
import { addGateCommand } from './gate-command.ts';
import { addIntentCommands } from './intent-commands.ts';
import type { RunScriptFlags } from './run-script.ts';
import { addCompareCommands, addSuiteCommand } from './suite-commands.ts';
import { age, atLeastOne, collect, cpus, duration, size, wholeNumber } from './units.ts';

/** The commands that run something, and those that look after the runs. */
export function addRunCommands(program: Command, ended: (code: number) => void): void {
  const run = program.command('run').description('Run something inside bounds, and leave evidence of it.');
  run
    .command('script')
    .description(
      'Run a script in a sandbox; it finds its inputs in input/, and leaves files in output/ and a result.json.',
    )
    .argument(
      '<file>',
      'a script with a first line such as #!/usr/bin/env python3, or the ending .py, .mjs, .js or .sh',
    )
    .argument('[args...]', 'arguments for the script, after --')
    .option('--input <file>', 'a file that the script finds in input/; may be repeated', collect)
    .option('--env <name>', 'a variable that the script sees, as NAME or NAME=VALUE; may be repeated', collect)
    .option('--secret <name>', 'a variable whose value is masked wherever the script says it; may be repeated', collect)
    .option('--keep-credentials', 'store well-known credentials as they are; declared secrets stay masked')
    .option('--profile <name>', 'bounds of a profile: strict, default, dev or a file; they only tighten')
    .addOption(new Option('--sandbox <name>', 'which sandbox').choices(['process', 'none']))
    .addOption(
      new Option('--isolation <level>', 'at least this much, or no run').choices(['strict', 'standard', 'none']),
    )
    .option('--timeout <time>', 'how long it may take, up to 10m (default: 60s)', duration)
    .option('--idle-timeout <time>', 'how long it may say nothing', duration)
    .option('--memory <size>', 'memory of all its processes, files in its work folder included (default: 1g)', size)
    .option('--cpu-seconds <seconds>', 'processor time of all its processes', wholeNumber)
    .option('--cpus <count>', 'processors that it may use at once, such as 0.5 or 2; needs control groups', cpus)
    .option('--pids <count>', 'processes at once (default: 256)', wholeNumber)
    .option('--max-files <count>', 'files in output/ (default: 1000)', wholeNumber)
    .option('--max-bytes <size>', 'bytes in output/ (default: 500m)', size)
    .option('--copy-output <folder>', 'copy what it left in output/ to this folder')
    .option('--json', 'answer with one JSON document')
    .addHelpText('after', SCRIPT_EXITS)
    .action(async (file: string, args: string[], flags: RunScriptFlags) => {
      const { runScriptCommand } = await import('./run-script.ts');
      ended(await runScriptCommand(file, args, flags));
    });

  addAgentCommand(run, ended);
  addIntentCommands(run, program, ended);
  addSuiteCommand(run, ended);
  addCompareCommands(program, ended);
  addGateCommand(program, ended);

  program
    .command('show')
    .description('Show what a run did, within which bounds, and what it left.')
    .argument('[run]', 'a path, an id, the beginning of one, or latest', 'latest')
    .option('--internal', 'show the internal log, too, which is not for end users')
    .option('--json', 'answer with one JSON document')
    .action(async (word: string, flags) => {
      const { showCommand } = await import('./show.ts');
      ended(await showCommand(word, flags));
    });

  program
    .command('list')
    .description('List the runs of this place, the newest first.')
    .option('--limit <count>', 'how many', atLeastOne, 20)
    .option('--json', 'answer with one JSON document')
    .action(async flags => {
      const { listCommand } = await import('./runs.ts');
      ended(await listCommand(flags));
    });

  program
    .command('prune')
    .description('Remove old runs, and old comparisons and reports of them.')
    .requiredOption(
      '--older-than <time>',
      'those that began, or were made, longer ago than this, with its unit, such as 30d',
      age,
    )
    .option('--dry-run', 'only say which')
    .option('--json', 'answer with one JSON document')
    .action(async flags => {
      const { pruneCommand } = await import('./runs.ts');
      ended(await pruneCommand(flags));
    });

  program
    .command('recover')
    .description('Complete the folders of runs that were interrupted, and take away what they left on the machine.')
    .option('--json', 'answer with one JSON document')
    .action(async flags => {
      const { recoverCommand } = await import('./runs.ts');
      ended(await recoverCommand(flags));
    });

  program
    .command('doctor')
    .description('Say which sandboxes work here, what each enforces, which agents can be run, and what to do for more.')
    .option('--json', 'answer with one JSON document')
    .action(async flags => {
      const { doctorCommand } = await import('./doctor.ts');
      ended(await doctorCommand(flags));
    });
}

const SCRIPT_EXITS = `
Exit codes:
  0  succeeded
  1  failed or timed out
  2  could not be run as asked, or a fault of Proctor or the machine
  130, 143  interrupted; the run was stopped and written down

Example:
  proctor run script report.py --input data.csv --timeout 60s --memory 512m --profile strict -- --month 3`;
