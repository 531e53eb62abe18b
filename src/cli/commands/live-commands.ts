import type { Command } from 'commander';
import { HELP } from '../text/help.ts';

/** The commands for runs that are in progress. */
export function addLiveCommands(program: Command, ended: (code: number) => void): void {
  program
    .command('watch')
    .description('Follow a run in progress: cases, transcript or output as they happen')
    .argument('[run]', HELP.run, 'latest')
    .option('--json', 'print each event as a JSON line')
    .addHelpText('after', WATCH_EXITS)
    .action(async (word: string, flags: { json?: true }) => {
      const { watchCommand } = await import('./watch.ts');
      ended(await watchCommand(word, flags));
    });

  program
    .command('cancel')
    .description('Stop a run in progress, as Ctrl-C in its terminal does')
    .argument('<run>', HELP.run)
    .option('--json', HELP.json)
    .addHelpText('after', CANCEL_EXITS)
    .action(async (word: string, flags: { json?: true }) => {
      const { cancelCommand } = await import('./cancel.ts');
      ended(await cancelCommand(word, flags));
    });
}

const WATCH_EXITS = `
Exit codes:
  0, 1  the exit code of the run's own command; 1 also if the run was interrupted
  2     the run cannot be followed
  130   you stopped watching; the run continues`;

const CANCEL_EXITS = `
Exit codes:
  0  cancelled: a suite can be resumed; other runs are sealed
  1  the run had already ended
  2  the run cannot be cancelled`;
