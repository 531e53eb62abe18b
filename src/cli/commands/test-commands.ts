import type { Command } from 'commander';
import { addLimitFlags } from '../options/limit-flags.ts';
import { formats } from '../text/formats.ts';
import { shard } from '../options/shard.ts';
import { addHistoryCommand } from './history-command.ts';
import { HELP } from '../text/help.ts';
import { atLeastOne, collect, duration, wholeNumber } from '../text/units.ts';

/** The commands of a project with a `proctor.yaml`. */
export function addTestCommands(program: Command, ended: (code: number) => void): void {
  overrides(
    program
      .command('test')
      .description('Run the suites in proctor.yaml, compare them with their baselines, and decide')
      .argument('[suite...]', 'suites to test (default: all)'),
  )
    .option('--shard <i/n>', 'run one of n parts of each suite, and pack it for --parts; decides nothing', shard)
    .option(
      '--parts <path>',
      'decide on parts that ran with --shard: a folder with their packs, or a pack; repeatable',
      collect,
    )
    .option(
      '--key <file>',
      "with --parts: public key that must have signed them; repeatable (default: this project's key)",
      collect,
    )
    .option('--accept', 'make the result the baseline, if every case has an answer and every limit is met')
    .option('--watch', 'test again when cases, proctor.yaml or files next to it change')
    .option(
      '--out <folder>',
      'folder for the reports, one folder per suite (default: .proctor/reports/test); with --shard, for the packs (default: .proctor/parts)',
    )
    .option('--json', HELP.json)
    .addHelpText('after', TEST_EXITS)
    .action(async (suites: string[], flags) => {
      const { testCommand } = await import('./test.ts');
      ended(await testCommand(suites, flags));
    });
  overrides(
    program
      .command('config')
      .description('Show the settings that proctor test uses, and where each comes from')
      .argument('[suite...]', 'suites to show (default: all)'),
  )
    .option('--json', HELP.json)
    .action(async (suites: string[], flags) => {
      const { configCommand } = await import('./config.ts');
      ended(configCommand(suites, flags));
    });
  program
    .command('view')
    .description('Open the report of the newest test, or the page of a run, comparison or matrix, in a browser')
    .argument('[run]', 'run, comparison or matrix: path, id, id prefix, or latest', 'latest')
    .option('--no-open', 'only write the page and print its path')
    .option('--json', HELP.json)
    .action(async (word: string, flags) => {
      const { viewCommand } = await import('./view.ts');
      ended(await viewCommand(word, flags));
    });
  addHistoryCommand(program, ended);
}

/** The flags that override the project file. */
function overrides(command: Command): Command {
  const flags = command
    .option('--config <file>', 'project file (default: proctor.yaml here or in a folder above)')
    .option('--only <ids>', 'cases to run, separated by commas; repeatable', collect)
    .option('--repeat <count>', 'run each suite this many times, to tell flaky cases from broken ones', atLeastOne)
    .option('--concurrency <count>', 'cases to run at once', atLeastOne)
    .option('--retries <count>', 'retries after timeouts, dropped connections, 429 and 5xx', wholeNumber)
    .option('--timeout <time>', 'stop an attempt after this long, at most 10m', duration)
    .option('--idle-timeout <time>', 'stop an attempt after this long without progress', duration)
    .option('--strict-replies', 'reject replies that need a repair')
    .option('--gate <gate>', HELP.gate)
    .option('--allow-removed', HELP.allowRemoved)
    .option('--allow-weakened', HELP.allowWeakened);
  return addLimitFlags(flags).option('--report <formats>', HELP.formats, formats);
}

const TEST_EXITS = `
Without an accepted baseline, only the limits of the gate decide.

Exit codes:
  0  no regression, and every limit is met
  1  a regression, a limit that is not met, or, without a baseline, a case without an answer
  2  a suite could not run
  3  not enough evidence for a verdict
  130, 143  interrupted

Examples:
  proctor test                       run every suite
  proctor test refunds --only late   run one case of one suite
  proctor test --accept              make the result the baseline
  proctor test --watch               run again after every change
  proctor test --shard 2/4           run the second of four parts, and pack it
  proctor test --parts parts         merge the packs in this folder, and decide`;
