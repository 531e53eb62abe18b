import { type Command, Option } from 'commander';
import { atLeastOne, collect, duration } from '../text/units.ts';
import type { WorkerFlags } from './worker.ts';

export function addWorkerCommand(program: Command, ended: (code: number) => void): void {
  program
    .command('worker')
    .description('Make the attempts of suites that other machines run with --queue')
    .option('--queue [url]', 'queue to take attempts from: the URL of PostgreSQL (default: PROCTOR_QUEUE)')
    .option('--on <url>', 'server to take attempts from, instead of a queue; needs a token in PROCTOR_TOKEN')
    .option('--token-file <file>', 'file with the token for --on')
    .option('--slots <count>', 'attempts to make at once', atLeastOne, 4)
    .option('--name <name>', 'name of this worker in evidence (default: the host name and a random part)')
    .option('--secret <name>', 'environment variable that attempts may use; repeatable', collect)
    .option(
      '--allow-script <sha256>',
      'attempts may run this script, or "any" script; repeatable, requires --store or --on',
      collect,
    )
    .option(
      '--allow-agent <name>',
      'attempts may run this agent, with the model key of this machine; repeatable, requires --store or --on',
      collect,
    )
    .option('--allow-target <origin>', 'attempts may ask only this origin; repeatable, required with --secret', collect)
    .option(
      '--store <address>',
      'folder shared with the conductors, or s3://…, for scripts, agents and replies above 64 KiB',
    )
    .addOption(
      new Option('--drain <time>', 'how long attempts may take after SIGTERM')
        .argParser(duration)
        .default(600_000, '10m'),
    )
    .option('--json', 'print every event as one line of JSON')
    .addHelpText('after', EXITS)
    .action(async (flags: WorkerFlags) => {
      const { workerCommand } = await import('./worker.ts');
      ended(await workerCommand(flags));
    });
}

const EXITS = `
The worker signs every outcome with the key of its project, .proctor/keys/signing.key, or with PROCTOR_KEY. It creates
a key if there is none.

If OTEL_EXPORTER_OTLP_ENDPOINT is set, Proctor exports OpenTelemetry spans to this collector.

Exit codes:
  0    drained after SIGTERM or SIGHUP
  2    the queue cannot be used, this machine cannot make attempts, or bad usage
  130  drained after Ctrl-C`;
