import type { Command } from 'commander';
import { printableJson } from '../../base/printable.ts';
import { bashCompletion, zshCompletion } from '../text/completion-bash-zsh.ts';
import { fishCompletion } from '../text/completion-fish.ts';
import { completedCommands } from '../text/completion-words.ts';
import { stdout } from '../text/out.ts';

export function completionCommand(program: Command, shell: keyof typeof SCRIPTS, isJson: boolean): number {
  const script = SCRIPTS[shell](completedCommands(program));
  stdout.write(isJson ? `${printableJson({ shell, script })}\n` : script);
  return 0;
}

const SCRIPTS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;
