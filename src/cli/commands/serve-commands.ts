import type { Command } from 'commander';
import { atLeastOne, collect, duration } from '../text/units.ts';
import type { ServeFlags } from './serve.ts';

/** The commands around the server. */
export function addServeCommands(program: Command, ended: (code: number) => void): void {
  program
    .command('serve')
    .description('Serve the live viewer and the API of this project')
    .option('--listen <address>', 'address and port to listen on', '127.0.0.1:7700')
    .option('--drain <time>', 'how long open requests and runs may take when the server stops', duration, 30_000)
    .option('--runs <count>', 'how many suites run at once', atLeastOne, 2)
    .option('--secret <name>', 'an environment variable that ordered suites may use; repeatable', collect)
    .option('--allow-target <origin>', 'an origin that ordered suites may ask, and no others; repeatable', collect)
    .option('--stop-runs', 'interrupt running suites when the server stops')
    .action(async (flags: ServeFlags) => {
      const { serveCommand } = await import('./serve.ts');
      ended(await serveCommand(flags));
    });
}
