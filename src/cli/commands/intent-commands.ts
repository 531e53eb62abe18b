import { type Command, Option } from 'commander';
import { HELP } from '../text/help.ts';
import type { RunIntentFlags } from './run-intent.ts';

export function addIntentCommands(run: Command, program: Command, ended: (code: number) => void): void {
  run
    .command('intent')
    .description('Plan an intent or execute it in a sandbox, and print one canonical RunResult')
    .argument('<file>', 'intent, JSON or YAML: a goal, files, commands, outputs and checks')
    .addOption(
      new Option('--mode <mode>', 'plan only, or execute in a sandbox')
        .choices(['plan-only', 'execute-sandbox'])
        .default('plan-only'),
    )
    .option('--policy <name>', 'profile: strict, default, dev or a file', 'default')
    .option('--answers <file>', 'answers to the questions of an earlier run: {"KEY": answer}')
    .addOption(
      new Option(
        '--model-mode <mode>',
        'how to plan a bare goal: not at all, with a model whose answer is recorded, or from a recording',
      )
        .choices(['none', 'record', 'replay'])
        .default('none'),
    )
    .option('--recording <file>', 'recording to write or replay')
    .addOption(
      new Option('--planner <agent>', 'with --model-mode record: agent that plans, found on the PATH').choices([
        'claude',
        'codex',
      ]),
    )
    .option('--copy-output <folder>', HELP.copyOutput)
    .option('--keep-sandbox', 'keep the contents of the sandbox for inspection')
    .option('--keep-credentials', 'store well-known credentials unmasked')
    .option('--internal', 'add sandbox_path and model_io_path, which are paths on this machine, to the result')
    .option('--json', 'no effect: this command always prints one JSON document')
    .addHelpText('after', EXITS)
    .action(async (file: string, flags: RunIntentFlags) => {
      const { runIntentCommand } = await import('./run-intent.ts');
      ended(await runIntentCommand(file, flags));
    });

  program
    .command('reproduce')
    .description('Run an intent again from its run folder and compare the results byte for byte')
    .argument('[run]', HELP.run, 'latest')
    .option('--json', HELP.json)
    .addHelpText('after', REPRODUCE_EXITS)
    .action(async (word: string, flags: { json?: true }) => {
      const { reproduceCommand } = await import('./reproduce.ts');
      ended(await reproduceCommand(word, flags));
    });
}

const EXITS = `
Standard output contains the RunResult or a RunError, and nothing else.

Exit codes:
  0  accepted: the plan is complete, or everything ran and every check passed
  1  not accepted: refused, open questions, or a failed command or check
  2  error in the intent, the profile or the machine
  130, 143  interrupted; the run is stopped and sealed

Examples:
  proctor run intent build-config.json --policy strict --mode execute-sandbox > run.json
  proctor run intent goal.json --policy dev --planner claude --model-mode record --recording plan.json > run.json`;

const REPRODUCE_EXITS = `
Exit codes:
  0  identical
  1  different; the first difference is shown
  2  cannot run again, or the run folder does not verify`;
