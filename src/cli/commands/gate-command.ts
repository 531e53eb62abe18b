import { type Command, InvalidArgumentError } from 'commander';
import type { GateFlags } from './gate.ts';
import { HELP } from '../text/help.ts';
import { atLeastOne, collect } from '../text/units.ts';

export function addGateCommand(program: Command, ended: (code: number) => void): void {
  program
    .command('gate')
    .description('Decide whether results from any tool got worse: CSV, JSON lines, JUnit XML or CTRF')
    .argument('<baseline>', 'results of the old version: a file, a folder, or several separated by commas')
    .argument('<new>', 'results of the new version')
    .option('--gate <gate>', HELP.gate)
    .option('--margin <share>', 'allowed drop in the pass rate (default: 0.05, which is 5 points)', share)
    .option('--alpha <share>', 'false alarm rate: share of unchanged suites that may fail (default: 0.05)', share)
    .option('--confidence <share>', 'confidence that the drop is within the margin (default: 0.95)', share)
    .option('--critical <case>', 'case that must be present and is judged on its own; repeatable', collect)
    .option('--allow-removed', HELP.allowRemoved)
    .option('--looks <count>', 'how many times you check these results as they grow, 1 to 5 (default: 1)', atLeastOne)
    .option('--json', HELP.json)
    .addHelpText('after', EXITS)
    .action(async (baseline: string, candidate: string, flags: GateFlags) => {
      const { gateCommand } = await import('./gate.ts');
      ended(await gateCommand(baseline, candidate, flags));
    });
}

/** `0.05`. */
function share(text: string): number {
  const value = /^0?\.\d{1,9}$/.test(text) ? Number(text) : 0;
  if (value <= 0) throw new InvalidArgumentError('Use a number between 0 and 1, such as 0.05.');
  return value;
}

const EXITS = `
Results:
  CSV, JSON lines  columns case and pass; optional: trial, rerun, score, latency_ms, ttft_ms, cost_usd
  JUnit, CTRF      one file per trial, such as before/1.xml, before/2.xml, before/3.xml
  *.rerun.*        trials of cases that you ran again, such as before/4.rerun.xml

Exit codes:
  0  no regression
  1  a regression
  2  unreadable results or gate, or bad usage
  3  not enough evidence: too few trials, removed or missing cases, or nothing passes

Examples:
  proctor gate before.csv after.csv
  proctor gate before/ after/ --gate proven --margin 0.1
  proctor gate before/1.xml,before/2.xml after/ --critical "billing > refunds an order"
  proctor gate before.jsonl after.jsonl --gate gate.yaml --json`;
