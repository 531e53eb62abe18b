import path from 'node:path';
import { Command, CommanderError } from 'commander';
import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import { useStateFolder } from '../base/state-folder.ts';
import { stderr, stdout } from './text/out.ts';
import { addCompletionCommand } from './commands/completion-command.ts';
import { addHelpCommands } from './commands/help-command.ts';
import { addLiveCommands } from './commands/live-commands.ts';
import { addPackCommands } from './commands/pack-commands.ts';
import { addPublishCommand } from './commands/publish-command.ts';
import { addQueueCommands } from './commands/queue-commands.ts';
import { asksForJson, reportFault, writeRefusal } from './text/refusal.ts';
import { addRunCommands } from './commands/run-commands.ts';
import { addServeCommands } from './commands/serve-commands.ts';
import { addTestCommands } from './commands/test-commands.ts';
import { addKeysCommands, addVerifyCommands } from './commands/verify-commands.ts';
import { addWorkerCommand } from './commands/worker-commands.ts';

/** Runs a command line and returns the exit code. */
export async function main(args: readonly string[], version: string): Promise<number> {
  const { XDG_STATE_HOME: states } = process.env;
  // The XDG specification says to ignore relative paths.
  if (states !== undefined && path.isAbsolute(states)) useStateFolder(path.join(states, 'proctor'));
  let exit = 0;
  const program = programOf(version, code => {
    exit = code;
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return exit;
  } catch (error) {
    return exitOf(error, args);
  }
}

function programOf(version: string, ended: (code: number) => void): Command {
  const program = new Command('proctor')
    .description(
      'Run agents, scripts, intents and suites within enforced limits, leave evidence that anyone can verify offline, and decide whether a new version is worse than the old one',
    )
    .version(version, '-v, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    // Commander would not wrap help in a terminal with fewer than 60 columns.
    .configureHelp({ minWidthToWrap: 20 })
    .addHelpText('after', EXAMPLES)
    .showHelpAfterError('Add --help for usage.')
    .configureOutput({
      writeOut: stdout.write,
      writeErr: text => stderr.write(text.split('\n').map(printable).join('\n')),
    })
    .exitOverride();
  addTestCommands(program, ended);
  addRunCommands(program, ended);
  addLiveCommands(program, ended);
  addPackCommands(program, ended);
  addPublishCommand(program, ended);
  addVerifyCommands(program, ended);
  addKeysCommands(program, ended);
  addServeCommands(program, ended);
  addQueueCommands(program, ended);
  addWorkerCommand(program, ended);
  addCompletionCommand(program, ended);
  addHelpCommands(program);
  return program;
}

/** Reports why a command failed. Anything that is neither bad usage nor a fault is a bug, and is thrown again. */
async function exitOf(error: unknown, args: readonly string[]): Promise<number> {
  if (error instanceof CommanderError && error.exitCode === 0) return 0;
  // `run intent` always prints a document, even if it fails.
  if (args[0] === 'run' && args[1] === 'intent') {
    const { reportUsage } = await import('./commands/run-intent.ts');
    return reportUsage(error);
  }
  const isJson = asksForJson(args);
  if (error instanceof CommanderError) {
    // Commander has already written the message to standard error.
    if (isJson) writeRefusal({ code: 'usage', message: usageText(error) });
    return 2;
  }
  if (error instanceof Fault) {
    reportFault(error, isJson);
    return 2;
  }
  if (error instanceof Error && 'syscall' in error && error.syscall === 'uv_cwd') {
    reportFault(
      { code: 'no_folder', message: 'The current folder no longer exists. Change to another folder.' },
      isJson,
    );
    return 2;
  }
  throw error;
}

/** Commander's message as one sentence. For an incomplete command, Commander has no message. */
function usageText({ code, message }: CommanderError): string {
  if (code === 'commander.help') return 'The command is incomplete. Add --help for usage.';
  return message.replace(/^error: /, '').replaceAll('\n', ' ');
}

const EXAMPLES = `
Examples:
  proctor init                              set up a project, with a first suite that passes
  proctor run script report.py --input data.csv --timeout 30s
  proctor run agent --agent claude --task "add a test for parse()" --policy edit
  proctor apply latest                      apply what the agent changed
  proctor run intent intent.json --policy strict --mode execute-sandbox > run.json
  proctor reproduce latest                  run an intent again and compare
  proctor run suite cases.yaml --base-url http://127.0.0.1:8787 --as baseline
  proctor compare                           compare the newest candidate with the newest baseline
  proctor gate before.xml after.xml         compare the results of another tool
  proctor show latest                       show what a run did
  proctor verify latest                     verify the evidence of a run
  proctor pack latest                       pack a run into one file
  proctor example runner > runner.json      print a valid record
  proctor verify runner.json                verify one document
  proctor verify run.json all.ndjson runs/  verify files, records and folders
  proctor explain RN7                       explain a rule`;
