import type { Command } from 'commander';
import { HELP } from '../text/help.ts';
import { duration } from '../text/units.ts';

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
  queue
    .command('sweep')
    .description('Remove the blobs of a store that nothing has written for a while')
    .requiredOption('--store <address>', 'folder shared by conductors and workers, or s3://…')
    .requiredOption('--older-than <time>', 'minimum age, at least 1d; longer than your longest run', duration)
    .option('--json', HELP.json)
    .addHelpText('after', EXITS_OF_SWEEP)
    .action(async options => {
      const { sweepStoreCommand } = await import('./queue.ts');
      ended(await sweepStoreCommand(options));
    });
}

const URL_HELP =
  'such as postgres://user@host/database; default PROCTOR_QUEUE, which keeps a password off the command line';

const EXITS = `
Exit codes:
  0  done
  2  bad usage, or the database cannot be used or has tables of another version`;

const EXITS_OF_SWEEP = `
Exit codes:
  0  done
  2  bad usage, or the store cannot be used`;
