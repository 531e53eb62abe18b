import { type Command, InvalidArgumentError, Option } from 'commander';
import { HELP } from '../text/help.ts';
import type { RunAgentFlags } from './run-agent.ts';
import { atLeastOne, collect, cpus, dollars, timeout, wholeNumber } from '../text/units.ts';

export function addAgentCommand(run: Command, ended: (code: number) => void): void {
  startOptions(run.command('agent'))
    .description('Run an agent on a private clone, under a policy that Proctor enforces')
    .requiredOption('--agent <name>', 'agent to run: claude or codex, found on the PATH')
    .option('--task <text>', 'task for the agent')
    .option('--task-file <file>', 'file that contains the task; - reads standard input')
    .option(
      '--prompt-ref <name>',
      'where the task text comes from, recorded in the evidence, such as prompts/implement@3',
    )
    .option('--policy <name>', HELP.agentPolicy, 'read-only')
    .option('--allow-path <path>', 'restrict changes to this path; repeatable', collect)
    .option('--forbid-path <path>', 'forbid changes to this path; repeatable', collect)
    .option(
      '--forbid <operation>',
      'forbid an operation: commit, push, delete, force or configure; repeatable',
      (word: string, words: readonly string[] | undefined) => collect(operation(word), words),
    )
    .option('--timeout <time>', 'stop after this long (default: 10m)', timeout)
    .option('--idle-timeout <time>', 'stop after this long without progress (default: 2m)', timeout)
    .option('--model <name>', HELP.model)
    .option('--max-turns <count>', HELP.maxTurns, atLeastOne)
    .option('--max-requests <count>', HELP.maxRequests, atLeastOne)
    .option('--max-tokens <count>', HELP.maxTokens, atLeastOne)
    .option('--max-cost <usd>', HELP.maxCost, dollars)
    .option('--prices <file>', HELP.prices)
    .option('--cpus <number>', HELP.cpus, cpus)
    .option('--secret <name>', HELP.secret, collect)
    .option('--keep-credentials', HELP.keepCredentials)
    .addOption(new Option('--model-mode <mode>', HELP.modelMode).choices(['live', 'record', 'replay']).default('live'))
    .option('--recording <file>', 'recording to write or replay')
    .addOption(
      new Option('--login <name>', 'model credential: an environment variable, or the login of claude or codex')
        .choices(['env', 'claude', 'codex'])
        .default('env'),
    )
    .option('--allow-untested-version', HELP.untested)
    .option('--no-project-context', 'hide project instructions from the agent: CLAUDE.md, AGENTS.md and skills')
    .option(
      '--check <command>',
      'command that tests the result, such as "npm test" or unit="npm test"; repeatable',
      collect,
    )
    .option('--checks <file>', 'YAML or JSON file with checks: limits, hidden files, paths and reports')
    .option(
      '--attempts <count>',
      'make 2 to 20 attempts side by side, and rank them by checks, diff and cost',
      wholeNumber,
    )
    .option('--json', HELP.json)
    .addHelpText('after', EXITS)
    .action(async (flags: RunAgentFlags) => {
      if (flags.attempts !== undefined) {
        const { runAttemptsCommand } = await import('./run-attempts.ts');
        return ended(await runAttemptsCommand(flags, flags.attempts));
      }
      const { runAgentCommand } = await import('./run-agent.ts');
      return ended(await runAgentCommand(flags));
    });
}

/** What the agent starts from. */
function startOptions(command: Command): Command {
  return command
    .option('--dir <folder>', 'folder to work on; the agent gets a private clone (default: .)')
    .option('--repository <path>', 'git repository (bare or not) or git bundle to start from, instead of --dir')
    .option('--base <ref>', 'start from this commit instead of HEAD; uncommitted changes do not matter')
    .option('--allow-dirty', 'work on the last commit even if there are uncommitted changes')
    .option('--files <folder>', 'folder whose files Proctor adds to the base; alone, it makes a new repository')
    .option('--setup <command>', 'command that prepares the tree before the agent starts, such as "npm ci"; cached')
    .option(
      '--mount <folder[:path]>',
      'let the agent read this folder, such as node_modules, but not change it; repeatable',
      collect,
    );
}

function operation(word: string): string {
  if (OPERATIONS.includes(word)) return word;
  throw new InvalidArgumentError(`Use one of ${OPERATIONS.join(', ')}.`);
}

const OPERATIONS: readonly string[] = ['commit', 'push', 'delete', 'force', 'configure'];

const EXITS = `
Model credentials and addresses come from these variables. None of them enters the sandbox.
  claude  ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN or CLAUDE_CODE_OAUTH_TOKEN; ANTHROPIC_BASE_URL
  codex   OPENAI_API_KEY; OPENAI_BASE_URL

Exit codes:
  0  completed without a policy violation, and every check passes; with --attempts: there is a winner
  1  any other termination, a policy violation, or a check that fails or does not run; with --attempts: no winner
  2  cannot run as requested, or a fault in Proctor or the machine
  130, 143  interrupted; the run is stopped and sealed

Examples:
  proctor run agent --agent claude --task "add a test for parse()" --policy edit --timeout 10m
  proctor run agent --agent claude --task "fix parse()" --policy edit --attempts 5 --check "npm test"
  proctor apply latest                 apply the changes; after attempts, those of the winner`;
