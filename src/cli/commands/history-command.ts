import { type Command, Option } from 'commander';
import { HELP } from '../text/help.ts';
import { atLeastOne } from '../text/units.ts';

export function addHistoryCommand(program: Command, ended: (code: number) => void): void {
  program
    .command('history')
    .description(
      'Show when cases started to fail, and how pass rate, flakiness, latency and cost changed over the runs',
    )
    .argument('[name]', 'suite or case (default: all suites)')
    .argument('[case]', 'case of the suite, if several suites have a case of that name')
    .option('--limit <count>', 'maximum number of runs per suite, newest first, at most 1000', atLeastOne, 50)
    .addOption(new Option('--as <side>', 'only runs of this side').choices(['baseline', 'new']))
    .option('--open', 'write the page to .proctor/reports/history, and open it in a browser')
    .option('--html <file>', 'write the page to this file')
    .option('--json', HELP.json)
    .addHelpText('after', EXAMPLES)
    .action(async (name: string | undefined, caseId: string | undefined, flags) => {
      const { historyCommand } = await import('./history.ts');
      ended(await historyCommand(name, caseId, flags));
    });
}

const EXAMPLES = `
Reads sealed runs in .proctor/runs whose evaluation matches its seal. Exits with 0, whatever the runs say.

Examples:
  proctor history                    every suite, with its newest state
  proctor history refunds            the runs of a suite, and the cases that changed
  proctor history large-refund       one case: every trial, and when it started to fail
  proctor history refunds --open     the same as a page`;
