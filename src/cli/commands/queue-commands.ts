import type { Command } from 'commander';
import { HELP } from '../text/help.ts';

export function addQueueCommands(program: Command, ended: (code: number) => void): void {
  const queue = program.command('queue').description('Set up and inspect the queue that a team shares in PostgreSQL');
  queue
    .command('migrate')
    .description('Create or upgrade the tables of the queue; the only command that changes tables')
    .argument('[url]', URL_HELP)
    .option('--json', HELP.json)
    .addHelpText('after', EXITS)
    .action(async (url: string | undefined, options) => {
      const { migrateCommand } = await import('./queue.ts');
      ended(await migrateCommand(url, options));
    });
  queue
    .command('show')
    .description('Show what waits and since when, what is active, what was lost, and the workers')
    .argument('[url]', URL_HELP)
    .option('--json', HELP.json)
    .addHelpText('after', EXITS)
    .action(async (url: string | undefined, options) => {
      const { showQueueCommand } = await import('./queue.ts');
      ended(await showQueueCommand(url, options));
    });
}

const URL_HELP =
  'such as postgres://user@host/database; default PROCTOR_QUEUE, which keeps a password off the command line';

const EXITS = `
Exit codes:
  0  done
  2  bad usage, or the database cannot be used or has tables of another version`;
