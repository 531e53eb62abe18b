import { type Command, InvalidArgumentError } from 'commander';
import type { GateFlags } from './gate.ts';
import { atLeastOne, collect } from './units.ts';

/** The command that decides on results of any tool. */
export function addGateCommand(program: Command, ended: (code: number) => void): void {
  program
    .command('gate')
    .description('Decide whether results of any tool got worse: CSV, JSON lines, JUnit XML or CTRF.')
    .argument('<baseline>', 'results of the old version: a file, a folder of files, or several with commas between')
    .argument('<new>', 'results of the new version')
    .option(
      '--gate <gate>',
      'balanced (default), proven (rules out a drop beyond the margin), strict (any case that broke), or a file',
    )
    .option('--margin <share>', 'allowed drop of the pass rate (default: 0.05, which is 5 points)', share)
    .option('--alpha <share>', 'share of unchanged suites that may raise an alarm (default: 0.05)', share)
    .option('--confidence <share>', 'how sure "at most the margin" must be (default: 0.95)', share)
    .option('--critical <case>', 'a case that must not be missing and is judged by itself; may be repeated', collect)
    .option('--allow-removed', 'accept that cases of the baseline have no results in the new version')
    .option('--looks <count>', 'how often you look at these results as they grow, 1 to 5 (default: 1)', atLeastOne)
    .option('--json', 'answer with one JSON document')
    .addHelpText('after', HELP)
    .action(async (baseline: string, candidate: string, flags: GateFlags) => {
      const { gateCommand } = await import('./gate.ts');
      ended(await gateCommand(baseline, candidate, flags));
    });
}

/** `0.05`. */
function share(text: string): number {
  const value = /^0?\.\d{1,9}$/.test(text) ? Number(text) : 0;
  if (value <= 0) throw new InvalidArgumentError('It takes a number between 0 and 1, such as 0.05.');
  return value;
}

const HELP = `
Results:
  CSV, JSON lines  columns case and pass; optional: trial, rerun, score, latency_ms, cost_usd
  JUnit, CTRF      one file per trial, such as before/1.xml, before/2.xml, before/3.xml
  *.rerun.*        trials of cases that you asked again, such as before/4.rerun.xml

Exit codes:
  0  no regression
  1  a regression
  2  the results or the gate could not be read, or bad usage
  3  not enough evidence: too few trials, removed or missing cases, or nothing that passes

Examples:
  proctor gate before.csv after.csv
  proctor gate before/ after/ --gate proven --margin 0.1
  proctor gate before/1.xml,before/2.xml after/ --critical "billing > refunds an order"
  proctor gate before.jsonl after.jsonl --gate gate.yaml --json`;
