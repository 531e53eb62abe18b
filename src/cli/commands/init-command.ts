import { type Command, Option } from 'commander';
import { HELP } from '../text/help.ts';
import type { InitFlags } from './init.ts';

/** The command that sets up a project. */
export function addInitCommand(program: Command, ended: (code: number) => void): void {
  program
    .command('init')
    .description('Set up a project: find something to test, and write proctor.yaml with a first suite')
    .addOption(new Option('--kind <kind>', 'what to test (default: http)').choices(['http', 'agent', 'script']))
    .option('--url <url>', 'address of the API to test (default: the one found, or an example agent)')
    .addOption(
      new Option('--agent <name>', 'coding agent to test (default: the one found)').choices(['claude', 'codex']),
    )
    .option('--script <file>', 'script to test (default: the one found, or an example)')
    .option('--yes', 'ask nothing; without a terminal, init never asks')
    .option('--json', HELP.json)
    .addHelpText('after', EXITS)
    .action(async (flags: InitFlags) => {
      const { initCommand } = await import('./init.ts');
      ended(await initCommand(flags));
    });
}

const EXITS = `
init starts nothing and overwrites nothing. It contacts only servers on this machine, for at most 500 ms each.

Exit codes:
  0  proctor.yaml and a first suite are written
  2  nothing is written: a file is in the way, or bad usage
  130  interrupted; nothing is written

Examples:
  proctor init
  proctor init --yes                                  an example agent, if nothing is found
  proctor init --url http://127.0.0.1:8000/chat --yes
  proctor init --agent claude --yes`;
