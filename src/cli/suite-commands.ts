import { type Command, Option } from 'commander';
import { formats } from './formats.ts';
import { addLimitFlags } from './limit-flags.ts';
import type { RunSuiteFlags } from './run-suite.ts';
import { atLeastOne, collect, cpus, dollars, duration, size, wholeNumber } from './units.ts';

/** The commands that run suites. */
export function addSuiteCommand(run: Command, ended: (code: number) => void): void {
  addLimitFlags(suiteCommand(run))
    .option('--gate <file>', 'a gate file, of which the limits on the new side count')
    .option('--json', 'answer with one JSON document')
    .addHelpText('after', EXITS)
    .action(async (cases: string | undefined, flags: RunSuiteFlags) => {
      const { runSuiteCommand } = await import('./run-suite.ts');
      ended(await runSuiteCommand(cases, flags));
    });
}

function suiteCommand(run: Command): Command {
  return run
    .command('suite')
    .description('Send every case of a suite to an agent, leave an artifact of each answer, and judge it.')
    .argument('[cases]', 'the cases: a .yaml, .json, .jsonl or .csv file')
    .option('--base-url <url>', 'the agent: cases go to URL/run-case')
    .option('--script <file>', 'a script that answers in its place, in a sandbox: input/case.json to output/reply.json')
    .option('--agent <name>', "an agent's program that answers, in a sandbox: claude or codex, found on the PATH")
    .option('--policy <name>', 'with --agent: what it may do: read-only, edit, open or a file (default: read-only)')
    .option('--dir <folder>', 'with --agent: the folder that every attempt gets a private clone of (default: .)')
    .option('--model <name>', 'with --agent: which model, as the agent calls it')
    .option('--max-turns <count>', 'with --agent: turns that each attempt may have', atLeastOne)
    .option('--max-requests <count>', 'with --agent: requests to the model in each attempt', atLeastOne)
    .option('--max-tokens <count>', 'with --agent: tokens in and out in each attempt', atLeastOne)
    .option('--max-cost <usd>', 'with --agent: US dollars for each attempt, by --prices or its own account', dollars)
    .option('--prices <file>', 'with --agent: what models cost, in US dollars per million tokens')
    .addOption(
      new Option(
        '--model-mode <mode>',
        'with --agent: whether the model answers, is recorded, or recordings answer',
      ).choices(['live', 'record', 'replay']),
    )
    .option('--recordings <folder>', 'with --model-mode: the folder of the recordings, one for each attempt')
    .option('--allow-untested-version', 'with --agent: also a version that nobody has tried; the evidence says so')
    .addOption(new Option('--as <side>', 'which side of a comparison it is').choices(['baseline', 'new']))
    .option('--out <folder>', 'where the artifacts go, in baseline/ and new/ (default: .proctor/runs)')
    .option('--run-id <id>', 'a name for the run')
    .option('--only <ids>', 'only these cases, with commas between; may be repeated', collect)
    .option('--concurrency <count>', 'cases at once (default: 4)', atLeastOne)
    .option('--timeout <time>', 'how long one attempt may take, up to 10m (default: 60s; of an agent 10m)', duration)
    .option('--idle-timeout <time>', 'how long nothing may be heard of it (default of an agent: 2m)', duration)
    .option(
      '--retries <count>',
      'further attempts after timeouts, cut connections, 429 and 5xx (default: 2)',
      wholeNumber,
    )
    .option('--repeat <count>', 'run the suite so many times, to tell flaky cases from broken ones', atLeastOne)
    .option('--resume <run>', 'go on with a run that was interrupted; takes no cases')
    .option('--header <header>', "a header of every request, as 'NAME: env:VARIABLE'; may be repeated", collect)
    .option('--secret <name>', 'a variable whose value is masked in all answers; may be repeated', collect)
    .option('--keep-credentials', 'store well-known credentials as they are; declared secrets stay masked')
    .option(
      '--provenance <name=value>',
      'what the agent is made of, such as model=NAME or agent_version=2.1.0; may be repeated',
      collect,
    )
    .option('--follow-redirects', 'follow redirects within the same origin')
    .option('--max-body <size>', 'how much of an answer is read (default: 2000000)', size)
    .option('--profile <name>', 'with --script: bounds of a profile')
    .addOption(new Option('--sandbox <name>', 'with --script: which sandbox').choices(['process', 'none']))
    .addOption(
      new Option('--isolation <level>', 'with --script: at least this much').choices(['strict', 'standard', 'none']),
    )
    .option('--memory <size>', 'with --script: memory of all its processes (default: 1g)', size)
    .option('--cpus <count>', 'with --script or --agent: processors that each attempt may use at once', cpus);
}

/** The commands that say what came out of suites. */
export function addCompareCommands(program: Command, ended: (code: number) => void): void {
  const compare = program
    .command('compare')
    .description('Say whether the new version is worse than the baseline, which cases broke, and why.')
    .argument(
      '[baseline]',
      'a run, baseline for the newest of that side, or the file of an accepted baseline',
      'baseline',
    )
    .argument('[new]', 'a run, or new for the newest of that side', 'new')
    .option(
      '--gate <gate>',
      'balanced (default), proven (rules out a drop beyond the margin), strict (any case that broke), or a file',
    )
    .option('--allow-removed', 'accept that cases of the baseline are no longer in the suite')
    .option('--allow-weakened', 'accept that cases ask less than in the baseline');
  addLimitFlags(compare)
    .option('--format <formats>', 'reports to write: html (default), junit, md, json, with commas between', formats)
    .option('--out <folder>', 'where they go (default: .proctor/comparisons/<id>)')
    .option('--again', 'ask cases that look broken again, on both sides where the baseline can be asked')
    .option(
      '--again-trials <count>',
      'with --again: at most so many cases, each side counted (default: 200)',
      atLeastOne,
    )
    .option('--again-time <time>', 'with --again: no round begins after this time (default: 10m)', duration)
    .option('--again-cost <usd>', 'with --again: no round begins after so many US dollars', dollars)
    .option('--base-url <url>', 'with --again: where the new version answers, if not where its runs asked')
    .option('--baseline-url <url>', 'with --again: where the version of the baseline answers')
    .option('--script <file>', 'with --again: the script that the new runs asked')
    .option('--baseline-script <file>', 'with --again: the script that the runs of the baseline asked')
    .option('--policy <file>', 'with --again: the policy file of the agent that the new runs asked')
    .option('--dir <folder>', 'with --again: the folder that this agent works on clones of (default: .)')
    .option('--header <header>', "with --again: a header that the runs sent, as 'NAME: env:VARIABLE'", collect)
    .option('--rejudge', 'judge the runs again, whatever evaluation lies in their folders')
    .option(
      '--key <file>',
      'the public key that an accepted baseline must be signed with (default: that of this place)',
    )
    .option('--json', 'answer with one JSON document')
    .addHelpText('after', COMPARE_EXITS)
    .action(async (baseline: string, candidate: string, flags) => {
      const { compareCommand } = await import('./compare.ts');
      ended(await compareCommand(baseline, candidate, flags));
    });

  program
    .command('report')
    .description('Write reports of a comparison, or of one run of a suite.')
    .argument('[subject]', 'a comparison or a run: a path, an id, the beginning of one, or latest', 'latest')
    .option('--format <formats>', 'html (default), junit, md, json, terminal, with commas between', formats)
    .option('--out <folder>', 'where they go (default: .proctor/reports/<id>)')
    .option('--key <file>', 'the public key that a comparison must be signed with (default: that of this place)')
    .option('--json', 'answer with one JSON document')
    .action(async (word: string, flags) => {
      const { reportCommand } = await import('./compare.ts');
      ended(await reportCommand(word, flags));
    });

  const baseline = program.command('baseline').description('Look after what new versions are compared with.');
  baseline
    .command('accept')
    .description(
      'Make a small document of a run, and a pack beside it, to be committed; compare takes it in place of the run.',
    )
    .argument('[run]', 'a run of a suite: a path, an id, the beginning of one, or latest', 'latest')
    .option('--out <file>', 'where it goes', 'proctor-baseline.json')
    .option('--json', 'answer with one JSON document')
    .action(async (word: string, flags) => {
      const { acceptCommand } = await import('./baseline.ts');
      ended(await acceptCommand(word, flags));
    });

  program
    .command('resend')
    .description('Send the recorded request of a case again, and say how the answer differs from the recorded one.')
    .argument('<run>', 'a run of a suite: a path, an id, the beginning of one, or latest')
    .argument('<case>', 'the id of a case')
    .option('--base-url <url>', 'another agent than the one that was asked')
    .option('--script <file>', 'the script that answers')
    .option('--header <header>', "a header of the request, as 'NAME: env:VARIABLE'; may be repeated", collect)
    .option('--timeout <time>', 'how long it may take', duration)
    .option('--json', 'answer with one JSON document')
    .addHelpText('after', RESEND_EXITS)
    .action(async (word: string, id: string, flags) => {
      const { resendCommand } = await import('./resend.ts');
      ended(await resendCommand(word, id, flags));
    });
}

const COMPARE_EXITS = `
Exit codes:
  0  no regression
  1  a regression, or a limit on the new side that is not met
  2  could not be compared as asked, or a fault of Proctor or the machine
  3  not enough evidence: no baseline, not comparable, too much missing, or too few trials

Examples:
  proctor compare                                         the newest baseline and the newest new run
  proctor compare --again --baseline-url http://old:8080  ask suspects again, on both sides
  proctor compare proctor-baseline.json latest --format junit,md`;

const RESEND_EXITS = `
Exit codes:
  0  the same answer
  1  another answer, or none
  2  could not be sent as asked`;

const EXITS = `
Exit codes:
  0  every case was answered, and every limit is met
  1  a case was not answered, a limit is not met, or every case that was judged fails
  2  could not be run as asked, or a fault of Proctor or the machine
  130, 143  interrupted; --resume goes on

Examples:
  proctor run suite cases.yaml --base-url http://127.0.0.1:8787 --as baseline
  proctor run suite cases.yaml --base-url http://127.0.0.1:8788 --as new --concurrency 32 --repeat 3
  proctor run suite cases.yaml --script agent.py --as new --max-failing 0
  proctor run suite cases.yaml --agent claude --policy read-only --dir . --as baseline`;
