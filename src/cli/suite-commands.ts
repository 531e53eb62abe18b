import { type Command, Option } from 'commander';
import type { RunSuiteFlags } from './run-suite.ts';
import { atLeastOne, collect, duration, size, wholeNumber } from './units.ts';

/** The commands that run suites. */
export function addSuiteCommand(run: Command, ended: (code: number) => void): void {
  run
    .command('suite')
    .description('Send every case of a suite to an agent, and leave an artifact of each answer.')
    .argument('[cases]', 'the cases: a .yaml, .json, .jsonl or .csv file')
    .option('--base-url <url>', 'the agent: cases go to URL/run-case')
    .option('--script <file>', 'a script that answers in its place, in a sandbox: input/case.json to output/reply.json')
    .addOption(new Option('--as <side>', 'which side of a comparison it is').choices(['baseline', 'new']))
    .option('--out <folder>', 'where the artifacts go, in baseline/ and new/ (default: .proctor/runs)')
    .option('--run-id <id>', 'a name for the run')
    .option('--only <ids>', 'only these cases, with commas between; may be repeated', collect)
    .option('--concurrency <count>', 'cases at once (default: 4)', atLeastOne)
    .option('--timeout <time>', 'how long one attempt may take, up to 10m (default: 60s)', duration)
    .option('--idle-timeout <time>', 'how long nothing may be heard of it', duration)
    .option(
      '--retries <count>',
      'further attempts after timeouts, cut connections, 429 and 5xx (default: 2)',
      wholeNumber,
    )
    .option('--repeat <count>', 'run the suite so many times, to tell flaky cases from broken ones', atLeastOne)
    .option('--resume <run>', 'go on with a run that was interrupted; takes no cases')
    .option('--header <header>', "a header of every request, as 'NAME: env:VARIABLE'; may be repeated", collect)
    .option('--secret <name>', 'a variable whose value is masked in all answers; may be repeated', collect)
    .option('--follow-redirects', 'follow redirects within the same origin')
    .option('--max-body <size>', 'how much of an answer is read (default: 2000000)', size)
    .option('--profile <name>', 'with --script: bounds of a profile')
    .addOption(new Option('--sandbox <name>', 'with --script: which sandbox').choices(['process', 'none']))
    .addOption(
      new Option('--isolation <level>', 'with --script: at least this much').choices(['strict', 'standard', 'none']),
    )
    .option('--memory <size>', 'with --script: memory of all its processes (default: 1g)', size)
    .option('--json', 'answer with one JSON document')
    .addHelpText('after', EXITS)
    .action(async (cases: string | undefined, flags: RunSuiteFlags) => {
      const { runSuiteCommand } = await import('./run-suite.ts');
      ended(await runSuiteCommand(cases, flags));
    });
}

const EXITS = `
Exit codes:
  0  every case was answered
  1  some case was not: see its artifact
  2  could not be run as asked, or a fault of Proctor or the machine
  130, 143  interrupted; --resume goes on

Examples:
  proctor run suite cases.yaml --base-url http://127.0.0.1:8787 --as baseline
  proctor run suite cases.yaml --base-url http://127.0.0.1:8788 --as new --concurrency 32 --repeat 3
  proctor run suite cases.yaml --script agent.py --as new`;
