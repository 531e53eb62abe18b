import { type Command, InvalidArgumentError, Option } from 'commander';
import type { RunAgentFlags } from './run-agent.ts';
import { atLeastOne, collect, cpus, dollars, duration } from './units.ts';

/** The command that lets an agent work under a policy. */
export function addAgentCommand(run: Command, ended: (code: number) => void): void {
  run
    .command('agent')
    .description('Let an agent do a task on a private clone, under a policy that is enforced around it.')
    .requiredOption('--agent <name>', 'which agent: claude or codex, found on the PATH')
    .option('--task <text>', 'what it is to do')
    .option('--task-file <file>', 'a file with what it is to do; - is standard input')
    .option('--prompt-ref <name>', 'where the text of the task comes from, for the evidence: prompts/implement@3')
    .option('--dir <folder>', 'the folder to work on; the agent gets a private clone of it (default: .)')
    .option('--policy <name>', 'what it may do: read-only, edit, open or a file', 'read-only')
    .option('--allow-path <path>', 'only this may be changed, of what the policy allows; may be repeated', collect)
    .option('--forbid-path <path>', 'this may not be changed, either; may be repeated', collect)
    .option(
      '--forbid <operation>',
      'this may not be done, either: commit, push, delete, force or configure; may be repeated',
      (word: string, words: readonly string[] | undefined) => collect(operation(word), words),
    )
    .option('--timeout <time>', 'how long it may take (default: 10m)', duration)
    .option('--idle-timeout <time>', 'how long it may not get on (default: 2m)', duration)
    .option('--model <name>', 'which model, as the agent calls it')
    .option('--max-turns <count>', 'how many turns it may have', atLeastOne)
    .option('--max-requests <count>', 'requests to its model, counted at the door', atLeastOne)
    .option('--max-tokens <count>', 'tokens in and out, counted at the door', atLeastOne)
    .option('--max-cost <usd>', 'cost in US dollars: by --prices at the door, else by its own account', dollars)
    .option('--prices <file>', 'what models cost, in US dollars per million tokens, YAML or JSON')
    .option('--cpus <count>', 'processors that it may use at once, such as 0.5 or 2; needs control groups', cpus)
    .option('--secret <name>', 'a variable that it sees, masked wherever it says it; may be repeated', collect)
    .option('--keep-credentials', 'store well-known credentials as they are; declared secrets stay masked')
    .addOption(
      new Option('--model-mode <mode>', 'whether the model answers, is recorded, or a recording answers')
        .choices(['live', 'record', 'replay'])
        .default('live'),
    )
    .option('--recording <file>', 'where the recording is written, or read from')
    .addOption(
      new Option('--login <name>', 'what opens the model: a variable, or the login of claude or codex itself')
        .choices(['env', 'claude', 'codex'])
        .default('env'),
    )
    .option('--allow-untested-version', 'also a version of the agent that nobody has tried; the evidence says so')
    .option('--allow-dirty', 'work on the last commit although there are changes that are not committed')
    .option('--no-project-context', 'without the instructions of the project: CLAUDE.md, AGENTS.md and skills')
    .option('--json', 'answer with one JSON document')
    .addHelpText('after', EXITS)
    .action(async (flags: RunAgentFlags) => {
      const { runAgentCommand } = await import('./run-agent.ts');
      ended(await runAgentCommand(flags));
    });
}

function operation(word: string): string {
  if (OPERATIONS.includes(word)) return word;
  throw new InvalidArgumentError(`It takes one of ${OPERATIONS.join(', ')}.`);
}

const OPERATIONS: readonly string[] = ['commit', 'push', 'delete', 'force', 'configure'];

const EXITS = `
The model API is opened by ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN or CLAUDE_CODE_OAUTH_TOKEN for claude, and by
OPENAI_API_KEY for codex; its address is taken from ANTHROPIC_BASE_URL or OPENAI_BASE_URL. All of them stay outside of the
sandbox.

Exit codes:
  0  completed, and nothing went against the policy
  1  any other termination, or something went against the policy
  2  could not be run as asked, or a fault of Proctor or the machine
  130, 143  interrupted; the run was stopped and written down

Example:
  proctor run agent --agent claude --task "add a test for parse()" --policy edit --timeout 10m
  proctor apply latest`;
