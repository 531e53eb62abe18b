import { type Command, Option } from 'commander';
import { atLeastOne, collect, duration, integer, share } from '../text/units.ts';

/** The flags of a suite whose attempts workers make. */
export function addQueueFlags(suite: Command): Command {
  return suite
    .option(
      '--queue [url]',
      'let workers make the attempts; the URL of PostgreSQL (default: PROCTOR_QUEUE), or none with --on',
    )
    .option(
      '--store <address>',
      'with --queue: folder shared with the workers, or s3://…, for scripts and replies above 64 KiB',
    )
    .addOption(
      new Option(
        '--lost <what>',
        'with --queue: whether to retry an attempt whose worker was lost (default: again)',
      ).choices(['again', 'never']),
    )
    .option('--priority <number>', 'with --queue: from -10 to 10; higher is earlier (default: 0)', integer)
    .option(
      '--target-slots <count>',
      'with --queue: attempts at this target at once, over all runs: 1, 2, 4 … 64',
      atLeastOne,
    )
    .option(
      '--heartbeat <time>',
      'with --queue: a worker is lost after this long without a beat (default: 30s)',
      duration,
    )
    .option(
      '--twice <share>',
      'with --queue: let a second worker make this share of the attempts again, up to 1',
      share,
    )
    .option('--worker-key <file>', 'with --queue: trust only workers with this public key; repeatable', collect);
}
