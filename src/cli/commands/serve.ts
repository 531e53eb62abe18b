import { Fault } from '../../base/fault.ts';
import { printableJson } from '../../base/printable.ts';
import { RATES } from '../../serve/access/limits.ts';
import { serve } from '../../serve/serve.ts';
import { allowedOrigins } from '../options/origins.ts';
import { interruptions } from '../options/interruptions.ts';
import { type OidcFlags, oidcSettings } from '../options/oidc.ts';
import { stayLean } from '../options/v8-heap.ts';
import { queueAddress, variables } from '../options/variables.ts';
import { stderr, stdout } from '../text/out.ts';

export interface ServeFlags extends OidcFlags {
  readonly listen: string;
  readonly host?: readonly string[];
  readonly tlsBehindProxy?: true;
  readonly rate?: number;
  readonly drain: number;
  readonly runs: number;
  readonly secret?: readonly string[];
  readonly allowTarget?: readonly string[];
  readonly queue?: string | true;
  readonly store?: string;
  readonly scriptsOn: 'here' | 'workers';
  readonly workerKey?: readonly string[];
  readonly stopRuns?: true;
  readonly json?: true;
}

/** Serves the viewer and the API until a signal stops it. */
export async function serveCommand({
  listen,
  drain,
  host: hosts = [],
  tlsBehindProxy,
  rate,
  json,
  ...flags
}: ServeFlags): Promise<number> {
  stayLean();
  const interrupt = interruptions();
  try {
    const { host, port } = addressOf(listen);
    const cwd = process.cwd();
    const serving = await serve({
      cwd,
      host,
      port,
      hosts,
      isBehindProxy: tlsBehindProxy === true,
      oidc: oidcSettings(flags),
      ...(rate !== undefined && { rates: { ...RATES, requests: rate } }),
      drainMs: drain,
      onLog: line => stderr.write(line),
      ordering: orderingOf(flags),
      team: teamOf(flags),
      ...scriptsOf(flags),
    });
    if (json) stdout.write(`${printableJson({ address: serving.address })}\n`);
    else stdout.write(`Open ${serving.address}\nPress Ctrl-C to stop.\n`);
    await new Promise<void>(resolve => {
      interrupt.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await serving.stop();
    return 0;
  } finally {
    interrupt.end();
  }
}

/** The queue whose attempts workers get here. */
function teamOf({ queue, store }: Pick<ServeFlags, 'queue' | 'store'>) {
  if (queue === undefined && store !== undefined) throw new Fault('usage', '--store requires a queue. Add --queue.');
  if (queue === undefined) return undefined;
  return { queue: queueAddress(typeof queue === 'string' ? queue : undefined), store, environment: process.env };
}

/** Where published scripts run. */
function scriptsOf({ scriptsOn, workerKey: workerKeys }: Pick<ServeFlags, 'scriptsOn' | 'workerKey'>) {
  if (scriptsOn === 'here' && workerKeys) throw new Fault('usage', '--worker-key requires --scripts-on workers.');
  return { scriptsOn, workerKeys };
}

/** How the server runs what its clients order. */
function orderingOf({ runs, secret = [], allowTarget = [], stopRuns }: OrderFlags) {
  const origins = allowedOrigins(allowTarget);
  return { runs, secrets: variables(secret, false), origins, stopsRuns: stopRuns === true };
}

type OrderFlags = Pick<ServeFlags, 'runs' | 'secret' | 'allowTarget' | 'stopRuns'>;

/** `127.0.0.1:7700` or `[::1]:7700`. */
function addressOf(text: string): { host: string; port: number } {
  const [, host = '', port = ''] = /^(\[[0-9a-fA-F:.]+\]|[^\s:]+):(\d{1,5})$/.exec(text) ?? [];
  if (host === '' || Number(port) > 65_535)
    throw new Fault('usage', 'Specify an address and a port: --listen 127.0.0.1:7700.');
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) };
}
