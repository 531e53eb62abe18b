import { type Command, Option } from 'commander';
import { addAgentCommand } from './agent-commands.ts';
import { addGateCommand } from './gate-command.ts';
import { addInitCommand } from './init-command.ts';
import { HELP } from '../text/help.ts';
import { addIntentCommands } from './intent-commands.ts';
import type { RunScriptFlags } from './run-script.ts';
import { addCompareCommands, addSuiteCommand } from './suite-commands.ts';
import { addScriptLimitFlags } from '../options/script-limit-flags.ts';
import { atLeastOne, collect, duration } from '../text/units.ts';

/** The commands that run something, and those that manage runs. */
export function addRunCommands(program: Command, ended: (code: number) => void): void {
  addInitCommand(program, ended);
  const run = program.command('run').description('Run something within limits and seal the evidence');
  addScriptCommand(run, ended);
  addAgentCommand(run, ended);
  addIntentCommands(run, program, ended);
  addSuiteCommand(run, ended);
  addCompareCommands(program, ended);
  addGateCommand(program, ended);
  addRunsCommands(program, ended);
}

function addScriptCommand(run: Command, ended: (code: number) => void): void {
  const script = run
    .command('script')
    .description('Run a script in a sandbox; it reads input/ and writes output/ and result.json')
    .argument('<file>', 'script with a first line such as #!/usr/bin/env python3, or named .py, .mjs, .js or .sh')
    .argument('[args...]', 'arguments for the script, after --')
    .option('--input <file>', 'file to copy to input/; repeatable', collect)
    .option('--env <name>', 'environment variable to pass, as NAME or NAME=VALUE; repeatable', collect)
    .option('--secret <name>', HELP.secret, collect)
    .option('--keep-credentials', HELP.keepCredentials)
    .option('--profile <name>', HELP.profile)
    .addOption(new Option('--sandbox <name>', HELP.sandbox).choices(['process', 'none']))
    .addOption(new Option('--isolation <level>', HELP.isolation).choices(['strict', 'standard', 'none']));
  addScriptLimitFlags(script)
    .option('--copy-output <folder>', HELP.copyOutput)
    .option('--json', HELP.json)
    .addHelpText('after', SCRIPT_EXITS)
    .action(async (file: string, args: string[], flags: RunScriptFlags) => {
      const { runScriptCommand } = await import('./run-script.ts');
      ended(await runScriptCommand(file, args, flags));
    });
}

/** The commands that look at runs and clean up after them. */
function addRunsCommands(program: Command, ended: (code: number) => void): void {
  program
    .command('show')
    .description('Show what a run did, its limits and its output')
    .argument('[run]', HELP.runOrAttempts, 'latest')
    .option('--internal', 'include the internal log, which is not meant for end users')
    .option('--json', HELP.json)
    .action(async (word: string, flags) => {
      const { showCommand } = await import('./show.ts');
      ended(await showCommand(word, flags));
    });

  program
    .command('list')
    .description('List the runs of this project, newest first')
    .option('--limit <count>', 'maximum number of runs to list', atLeastOne, 20)
    .option('--json', HELP.json)
    .action(async flags => {
      const { listCommand } = await import('./runs.ts');
      ended(await listCommand(flags));
    });

  program
    .command('prune')
    .description('Remove old runs, comparisons and reports')
    .requiredOption('--older-than <time>', 'minimum age, with a unit, such as 30d', duration)
    .option('--dry-run', 'list what would be removed, without removing it')
    .option('--json', HELP.json)
    .action(async flags => {
      const { pruneCommand } = await import('./runs.ts');
      ended(await pruneCommand(flags));
    });

  program
    .command('recover')
    .description('Complete interrupted runs and clean up what they left on the machine')
    .option('--json', HELP.json)
    .action(async flags => {
      const { recoverCommand } = await import('./runs.ts');
      ended(await recoverCommand(flags));
    });

  program
    .command('doctor')
    .description('Check which sandboxes and agents work on this machine, and show how to enable the others')
    .option('--json', HELP.json)
    .action(async flags => {
      const { doctorCommand } = await import('./doctor.ts');
      ended(await doctorCommand(flags));
    });
}

const SCRIPT_EXITS = `
If OTEL_EXPORTER_OTLP_ENDPOINT is set, Proctor exports OpenTelemetry spans to this collector.

Exit codes:
  0  succeeded
  1  failed or timed out
  2  cannot run as requested, or a fault in Proctor or the machine
  130, 143  interrupted; the run is stopped and sealed

Example:
  proctor run script report.py --input data.csv --timeout 60s --memory 512m --profile strict -- --month 3`;
