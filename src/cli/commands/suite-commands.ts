import { type Command, Option } from 'commander';
import { formats } from '../text/formats.ts';
import { HELP } from '../text/help.ts';
import { addLimitFlags } from '../options/limit-flags.ts';
import { shard } from '../options/shard.ts';
import { addQueueFlags } from '../options/queue-flags.ts';
import type { RunSuiteFlags } from './run-suite.ts';
import { atLeastOne, collect, cpus, dollars, duration, size, timeout, wholeNumber } from '../text/units.ts';

export function addSuiteCommand(run: Command, ended: (code: number) => void): void {
  addLimitFlags(addQueueFlags(suiteFlags(targetFlags(run.command('suite')))))
    .option('--gate <file>', 'gate file; its limits on the candidate apply; with several versions, also a mode')
    .option('--json', HELP.json)
    .addHelpText('after', EXITS)
    .action(async (cases: string | undefined, flags: RunSuiteFlags) => {
      const { runSuiteCommand } = await import('./run-suite.ts');
      ended(await runSuiteCommand(cases, flags));
    });
}

function targetFlags(suite: Command): Command {
  return suite
    .description('Send every case of a suite to a target, store the answers and judge them')
    .argument('[cases]', 'cases: a .yaml, .json, .jsonl or .csv file')
    .option('--base-url <url>', HELP.baseUrl)
    .option('--target <file>', 'target file: how to ask an API or a program, and how to read its reply')
    .option('--script <file>', 'target: a script in a sandbox; reads input/case.json, writes output/reply.json')
    .option(
      '--agent <name>',
      'target: an agent in a sandbox, claude or codex, found on the PATH; repeatable, for a matrix',
      collect,
    )
    .option('--policy <name>', `with --agent: ${HELP.agentPolicy} (default: read-only)`)
    .option('--dir <folder>', 'with --agent: folder to work on; each attempt gets a private clone (default: .)')
    .option(
      '--model <name>',
      `with --agent: ${HELP.model}; repeatable, for a matrix; claude=NAME is for that agent only`,
      collect,
    )
    .option('--max-turns <count>', `with --agent, per attempt: ${HELP.maxTurns}`, atLeastOne)
    .option('--max-requests <count>', `with --agent, per attempt: ${HELP.maxRequests}`, atLeastOne)
    .option('--max-tokens <count>', `with --agent, per attempt: ${HELP.maxTokens}`, atLeastOne)
    .option('--max-cost <usd>', `with --agent, per attempt: ${HELP.maxCost}`, dollars)
    .option('--prices <file>', `with --agent: ${HELP.prices}`)
    .addOption(
      new Option('--model-mode <mode>', `with --agent: ${HELP.modelMode}`).choices(['live', 'record', 'replay']),
    )
    .option('--recordings <folder>', 'with --model-mode: folder of recordings to write or replay, one per attempt')
    .option('--allow-untested-version', `with --agent: ${HELP.untested}`)
    .option('--base <ref>', 'with --agent: start every case from this commit instead of HEAD')
    .option(
      '--mount <folder[:path]>',
      'with --agent: folder that every case can read but not change; repeatable',
      collect,
    )
    .option(
      '--check <command>',
      'with --agent: command that tests the result of every case, such as unit="npm test"; repeatable',
      collect,
    )
    .option('--checks <file>', 'with --agent: YAML or JSON file with checks of every case');
}

function suiteFlags(suite: Command): Command {
  return suite
    .addOption(new Option('--as <side>', 'side of the comparison').choices(['baseline', 'new']))
    .option('--out <folder>', 'folder for the artifacts, in baseline/ and new/ (default: .proctor/runs)')
    .option('--run-id <id>', 'name for the run')
    .option('--only <ids>', 'cases to run, separated by commas; repeatable', collect)
    .option('--shard <i/n>', HELP.shard, shard)
    .option('--concurrency <count>', 'cases to run at once (default: 4)', atLeastOne)
    .option('--timeout <time>', 'stop an attempt after this long, at most 10m (default: 60s; agents: 10m)', timeout)
    .option('--idle-timeout <time>', 'stop an attempt after this long without progress (agents: 2m)', timeout)
    .option('--retries <count>', 'retries after timeouts, dropped connections, 429 and 5xx (default: 2)', wholeNumber)
    .option('--repeat <count>', 'run the suite this many times, to tell flaky cases from broken ones', atLeastOne)
    .option('--on <url>', 'run the suite on this server, and fetch its pack; needs a token in PROCTOR_TOKEN')
    .option('--token-file <file>', 'with --on: file with the token')
    .option('--resume <run>', 'resume an interrupted run; takes no cases')
    .option('--header <header>', HELP.header, collect)
    .option(
      '--secret <name>',
      'environment variable to mask in everything stored or shown; scripts and agents also see it; repeatable',
      collect,
    )
    .option('--keep-credentials', HELP.keepCredentials)
    .option(
      '--provenance <name=value>',
      'component or version of the target, such as model=NAME or agent_version=2.1.0; repeatable',
      collect,
    )
    .option('--strict-replies', 'reject replies that need a repair, instead of repairing and counting them')
    .option('--follow-redirects', 'follow redirects within the same origin')
    .option('--max-body <size>', 'maximum number of bytes to read from a response (default: 2000000)', size)
    .option('--profile <name>', `with --script or a program in --target: ${HELP.profile}`)
    .addOption(
      new Option('--sandbox <name>', `with --script or a program in --target: ${HELP.sandbox}`).choices([
        'process',
        'none',
      ]),
    )
    .addOption(
      new Option('--isolation <level>', `with --script or a program in --target: ${HELP.isolation}`).choices([
        'strict',
        'standard',
        'none',
      ]),
    )
    .option('--memory <size>', `with --script or a program in --target: ${HELP.memory}`, size)
    .option('--cpus <number>', `with --script, --agent or a program in --target, per attempt: ${HELP.cpus}`, cpus);
}

/** The commands that use the results of suites. */
export function addCompareCommands(program: Command, ended: (code: number) => void): void {
  addCompareCommand(program, ended);
  addReportCommand(program, ended);
  addBaselineCommand(program, ended);
  addResendCommand(program, ended);
  addTryCommand(program, ended);
}

function addCompareCommand(program: Command, ended: (code: number) => void): void {
  const compare = program
    .command('compare')
    .description('Decide whether the candidate is worse than the baseline, which cases broke, and why')
    .argument('[baseline]', 'run, accepted baseline file, or "baseline" for the newest baseline run', 'baseline')
    .argument('[new]', 'run, or "new" for the newest candidate run', 'new')
    .argument('[more...]', 'more runs, for a matrix of up to 8 versions; the first is the reference')
    .option('--gate <gate>', HELP.gate)
    .option('--allow-removed', HELP.allowRemoved)
    .option('--allow-weakened', HELP.allowWeakened);
  againFlags(addLimitFlags(compare))
    .option('--format <formats>', HELP.formats, formats)
    .option('--cases <file>', HELP.casesFile)
    .option('--out <folder>', `${HELP.reportsOut} (default: .proctor/comparisons/<id>)`)
    .option('--rejudge', 'judge the runs again, even if they have evaluations')
    .option('--key <file>', "public key that must have signed an accepted baseline (default: this project's key)")
    .option('--all-pairs', 'with three or more runs: fail if one is worse than any run before it')
    .option('--name <run=name>', 'with three or more runs: name of a run in the matrix; repeatable', collect)
    .option('--json', HELP.json)
    .addHelpText('after', COMPARE_EXITS)
    .action(async (baseline: string, candidate: string, more: readonly string[], flags) => {
      if (more.length > 0) {
        const { compareVersionsCommand } = await import('./compare-versions.ts');
        return ended(await compareVersionsCommand([baseline, candidate, ...more], flags));
      }
      const { compareCommand } = await import('./compare.ts');
      return ended(await compareCommand(baseline, candidate, flags));
    });
}

function againFlags(compare: Command): Command {
  return compare
    .option('--again', 'run suspect cases again, on both sides if the baseline can still be run')
    .option('--again-trials <count>', 'with --again: maximum number of trials, both sides (default: 200)', atLeastOne)
    .option('--again-time <time>', 'with --again: stop starting rounds after this long (default: 10m)', duration)
    .option('--again-cost <usd>', 'with --again: stop starting rounds after this many US dollars', dollars)
    .option('--base-url <url>', 'with --again: URL of the candidate, if it changed')
    .option('--baseline-url <url>', 'with --again: URL of the baseline')
    .option('--target <file>', 'with --again: target file of the candidate')
    .option('--baseline-target <file>', 'with --again: target file of the baseline')
    .option('--script <file>', 'with --again: script of the candidate')
    .option('--baseline-script <file>', 'with --again: script of the baseline')
    .option('--policy <file>', 'with --again: policy file for the agent')
    .option('--dir <folder>', 'with --again: folder to work on; each attempt gets a private clone (default: .)')
    .option('--header <header>', `with --again: ${HELP.header}`, collect);
}

function addReportCommand(program: Command, ended: (code: number) => void): void {
  program
    .command('report')
    .description('Write reports for a comparison or a suite run, or the page of another run')
    .argument('[subject]', 'comparison or run: path, id, id prefix, or latest', 'latest')
    .option('--format <formats>', `${HELP.formats}; also terminal`, formats)
    .option('--cases <file>', HELP.casesFile)
    .option('--out <folder>', `${HELP.reportsOut} (default: .proctor/reports/<id>)`)
    .option('--baseline <file>', "accepted baseline of the comparison (default: found among the project's baselines)")
    .option('--key <file>', "public key that must have signed the comparison (default: this project's key)")
    .option('--json', HELP.json)
    .action(async (word: string, flags) => {
      const { reportCommand } = await import('./compare.ts');
      ended(await reportCommand(word, flags));
    });
}

function addBaselineCommand(program: Command, ended: (code: number) => void): void {
  program
    .command('baseline')
    .description('Manage the baselines that candidates are compared with')
    .command('accept')
    .description('Write a small baseline document and its pack to commit; compare accepts it in place of the run')
    .argument('[run]', HELP.suiteRun, 'latest')
    .option('--out <file>', 'file to write', 'proctor-baseline.json')
    .option('--json', HELP.json)
    .action(async (word: string, flags) => {
      const { acceptCommand } = await import('./baseline.ts');
      ended(await acceptCommand(word, flags));
    });
}

function addTryCommand(program: Command, ended: (code: number) => void): void {
  program
    .command('try')
    .description('Ask a target one question, and show the request, the reply and what the mapping finds in it')
    .argument('<target>', 'target file')
    .argument('<text>', 'question to ask')
    .option('--context <json>', 'context of the question, as JSON')
    .option('--timeout <time>', 'stop after this long', timeout)
    .option('--strict-replies', 'reject a reply that needs a repair')
    .option('--json', HELP.json)
    .addHelpText('after', TRY_EXITS)
    .action(async (target: string, text: string, flags) => {
      const { tryCommand } = await import('./try.ts');
      ended(await tryCommand(target, text, flags));
    });
}

function addResendCommand(program: Command, ended: (code: number) => void): void {
  program
    .command('resend')
    .description("Send a case's recorded request again and compare the answers")
    .argument('<run>', HELP.suiteRun)
    .argument('<case>', 'case id')
    .option('--base-url <url>', 'API to send the request to, instead of the recorded one')
    .option('--script <file>', 'script to run, required if the recorded target is a script')
    .option('--target <file>', 'target file, required if the run used one')
    .option('--header <header>', HELP.header, collect)
    .option('--timeout <time>', 'stop after this long', timeout)
    .option('--json', HELP.json)
    .addHelpText('after', RESEND_EXITS)
    .action(async (word: string, id: string, flags) => {
      const { resendCommand } = await import('./resend.ts');
      ended(await resendCommand(word, id, flags));
    });
}

const COMPARE_EXITS = `
Exit codes:
  0  no regression
  1  a regression, or the candidate exceeds a limit; in a matrix, for any version
  2  cannot compare as requested, or a fault in Proctor or the machine
  3  not enough evidence: no baseline, not comparable, too much missing, or too few trials

Examples:
  proctor compare                                         newest baseline and newest candidate
  proctor compare --again --baseline-url http://old:8080  run suspect cases again, on both sides
  proctor compare --again --target agent.yaml --baseline-target old.yaml
  proctor compare proctor-baseline.json latest --format junit,md
  proctor compare v1 v2 v3                                a matrix: every pair, v1 is the reference`;

const RESEND_EXITS = `
Exit codes:
  0  same answer
  1  different answer, or none
  2  cannot send as requested`;

const EXITS = `
If OTEL_EXPORTER_OTLP_ENDPOINT is set, Proctor exports OpenTelemetry spans to this collector.

Exit codes:
  0  every case has an answer, and every limit is met
  1  a case has no answer, a limit is not met, or every judged case fails
  2  cannot run as requested, or a fault in Proctor or the machine
  130, 143  interrupted; use --resume to continue

Several agents or models: every combination is a version, up to 8. The suite runs once for each, as new.
Then a matrix judges every version against the first, and the exit codes are those of proctor compare:
  0  no version is worse than the first
  1  a version is worse, or exceeds a limit
  3  not enough evidence, for example without --repeat

Examples:
  proctor run suite cases.yaml --base-url http://127.0.0.1:8787 --as baseline
  proctor run suite cases.yaml --base-url http://127.0.0.1:8788 --as new --concurrency 32 --repeat 3
  proctor run suite cases.yaml --target agent.yaml --as new --repeat 3
  proctor run suite cases.yaml --script agent.py --as new --max-failing 0
  proctor run suite cases.yaml --target agent.yaml --as new --shard 2/4   one of four parts, for proctor merge
  proctor run suite cases.yaml --agent claude --policy read-only --dir . --as baseline
  proctor run suite cases.yaml --agent claude --agent codex --model claude=NAME --repeat 5`;

const TRY_EXITS = `
Stores nothing. Use it to write the mapping of a target file.

Exit codes:
  0  the target answered, and the reply could be read
  1  it did not, or the reply could not be read
  2  a problem with the target file, the command line or this machine

Examples:
  proctor try agent.yaml "When are you open?"
  proctor try agent.yaml "Wann?" --context '{"locale":"de"}' --json`;
