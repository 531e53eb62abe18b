import { homeFrom, makeHome } from '../evidence/run-folder/runs.ts';
import { openAccess } from './access/access.ts';
import type { AccessSettings } from './access/listening.ts';
import { Server } from './http/server.ts';
import { dropPassing } from './http/uploads.ts';
import { listen, type Patience } from './listen.ts';
import { openOrders, type Ordering } from './orders/open-orders.ts';
import { ServerLog } from './operation/log.ts';
import { ServerMetrics } from './operation/metrics.ts';
import { scriptWorkers, sendingOf } from './script-workers.ts';
import { openTeamQueue, queueForOrders, type TeamSettings } from './workers/open-team-queue.ts';

export interface ServeOptions
  extends Partial<Pick<AccessSettings, 'hosts' | 'isBehindProxy' | 'oidc' | 'rates' | 'recheckMs'>> {
  readonly cwd: string;
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** How long open requests may take when the server stops, in milliseconds. */
  readonly drainMs: number;
  /** Receives the server's log, a line at a time. */
  readonly onLog: (line: string) => void;
  /** How long the server waits for its clients. */
  readonly patience?: Patience;
  /** How the server runs what its clients order. */
  readonly ordering?: Partial<Ordering>;
  /** The queue whose attempts workers get from this server. */
  readonly team?: TeamSettings | undefined;
  /** Where published scripts run; on this machine by default. */
  readonly scriptsOn?: 'here' | 'workers';
  /** With `scriptsOn: 'workers'`, the public keys of the workers to trust; every worker of the queue by default. */
  readonly workerKeys?: readonly string[] | undefined;
}

export interface Serving {
  /** The address to open, with the secret in its fragment. */
  readonly address: string;
  stop(): Promise<void>;
}

/** Starts the server of a project. It reads the run folders that are there, and needs no database. */
export async function serve({
  cwd,
  host,
  port,
  drainMs,
  onLog,
  ordering = {},
  patience,
  team: settings,
  scriptsOn = 'here',
  workerKeys,
  ...who
}: ServeOptions): Promise<Serving> {
  const home = homeFrom(cwd);
  const sends = scriptsOn === 'workers' ? sendingOf({ cwd, workerKeys, settings }) : undefined;
  makeHome(home);
  const log = new ServerLog(onLog);
  const access = openAccess(home, { hosts: [], isBehindProxy: false, ...who, listen: host, port });
  const metrics = new ServerMetrics();
  const team = await openTeamQueue(cwd, settings, metrics, log).catch(async (error: unknown) => {
    await access.close();
    throw error;
  });
  dropPassing(home);
  const forOrders = queueForOrders(settings, team, ordering.environment);
  const orders = openOrders(cwd, home, log, { ...ordering, ...forOrders });
  const workers = sends && team && scriptWorkers(sends, team);
  const server = new Server({ cwd, home, access, log, orders, metrics, team, workers, ordering });
  const listening = await listen(server, host, port, patience).catch(async (error: unknown) => {
    await Promise.all([access.close(), orders.drain(0, false), team?.close()]);
    throw error;
  });
  access.listensOn(listening.port);
  log.note('listening', { host, port: listening.port });
  orders.start();
  server.scripts.resume();
  server.scripts.tend();
  return {
    address: access.address,
    stop: async () => {
      server.drain();
      const stopsRuns = ordering.stopsRuns === true;
      await Promise.all([listening.stop(drainMs), orders.drain(drainMs, stopsRuns), server.scripts.stop(drainMs)]);
      await Promise.all([access.close(), server.threads.close(), team?.close()]);
      log.note('stopped');
    },
  };
}
