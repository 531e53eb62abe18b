import { Argument, type Command } from 'commander';
import { HELP } from '../text/help.ts';

export function addCompletionCommand(program: Command, ended: (code: number) => void): void {
  program
    .command('completion')
    .description('Print a script that completes commands, flags, values and run ids in a shell')
    .addArgument(new Argument('<shell>', 'shell to complete in').choices(['bash', 'zsh', 'fish']))
    .option('--json', HELP.json)
    .addHelpText('after', LOAD)
    .action(async (shell: 'bash' | 'zsh' | 'fish', { json }: { readonly json?: true }) => {
      const { completionCommand } = await import('./completion.ts');
      ended(completionCommand(program, shell, json === true));
    });
}

const LOAD = `
The script contains every command. It runs no program while you type, and writes nothing.

Load it in one session, or add the line to the startup file of the shell:
  bash  source <(proctor completion bash)
  zsh   source <(proctor completion zsh)      after compinit
  fish  proctor completion fish | source`;
