import { type Command, Option } from 'commander';
import type { RunIntentFlags } from './run-intent.ts';

/** The command that decides upon an intent, and the one that does so again. */
export function addIntentCommands(run: Command, program: Command, ended: (code: number) => void): void {
  run
    .command('intent')
    .description('Plan an intent, and do it in a sandbox if asked to; the answer is one canonical RunResult.')
    .argument('<file>', 'an intent, JSON or YAML: a goal, files, commands, outputs and checks')
    .addOption(
      new Option('--mode <mode>', 'only plan, or do it in a sandbox')
        .choices(['plan-only', 'execute-sandbox'])
        .default('plan-only'),
    )
    .option('--policy <name>', 'what it may do: strict, default, dev or the file of a profile', 'default')
    .option('--answers <file>', 'answers to the questions of an earlier run: {"KEY": answer}')
    .addOption(
      new Option('--model-mode <mode>', 'whether a model plans what has only a goal')
        .choices(['none', 'record', 'replay'])
        .default('none'),
    )
    .option('--recording <file>', 'what the model answered: written by record, read by replay')
    .addOption(
      new Option('--planner <agent>', 'with --model-mode record: the agent that plans, found on the PATH').choices([
        'claude',
        'codex',
      ]),
    )
    .option('--copy-output <folder>', 'copy the outputs to this folder')
    .option('--keep-sandbox', 'keep what the sandbox held, to be looked at')
    .option('--keep-credentials', 'store well-known credentials as they are; declared secrets stay masked')
    .option('--internal', 'add sandbox_path and model_io_path, which are paths of this machine, to the answer')
    .addHelpText('after', EXITS)
    .action(async (file: string, flags: RunIntentFlags) => {
      const { runIntentCommand } = await import('./run-intent.ts');
      ended(await runIntentCommand(file, flags));
    });

  program
    .command('reproduce')
    .description('Run an intent again from its folder, and say whether the same comes out, byte for byte.')
    .argument('[run]', 'a path, an id, the beginning of one, or latest', 'latest')
    .option('--json', 'answer with one JSON document')
    .addHelpText('after', REPRODUCE_EXITS)
    .action(async (word: string, flags: { json?: true }) => {
      const { reproduceCommand } = await import('./reproduce.ts');
      ended(await reproduceCommand(word, flags));
    });
}

const EXITS = `
Standard output is the RunResult, or a RunError, and nothing else.

Exit codes:
  0  accepted: the plan is complete, or all of it was done and every check held
  1  not accepted: refused, questions are open, or what was run did not come out right
  2  an error: the intent, the profile or the machine
  130, 143  interrupted; the run was stopped and written down

Examples:
  proctor run intent build-config.json --policy strict --mode execute-sandbox > run.json
  proctor run intent goal.json --policy dev --planner claude --model-mode record --recording plan.json > run.json`;

const REPRODUCE_EXITS = `
Exit codes:
  0  the same
  1  something differs; the first place is named
  2  could not be run again, or its folder does not verify`;
