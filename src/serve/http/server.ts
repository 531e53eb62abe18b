import { BusyFault } from '../operation/busy-fault.ts';
import type { Access } from '../access/access.ts';
import { LiveHub } from '../live/hub.ts';
import type { ServerLog } from '../operation/log.ts';
import { ServerMetrics } from '../operation/metrics.ts';
import { ScriptRunner } from '../orders/script-runner.ts';
import type { Orders } from '../orders/orders.ts';
import { Pages } from './pages.ts';
import { RunData } from '../runs/run-data.ts';
import { RunIndex } from '../runs/run-index.ts';

/** What the routes act on. */
export class Server {
  /** The project folder. */
  readonly cwd: string;
  /** The `.proctor` folder. */
  readonly home: string;
  readonly access: Access;
  readonly log: ServerLog;
  readonly metrics = new ServerMetrics();
  readonly pages = new Pages();
  readonly runs: RunIndex;
  readonly data: RunData;
  readonly live = new LiveHub();
  /** Runs of published scripts. */
  readonly scripts: ScriptRunner;
  readonly orders: Orders;
  #isDraining = false;

  constructor({ cwd, home, access, log, orders }: Pick<Server, 'cwd' | 'home' | 'access' | 'log' | 'orders'>) {
    this.cwd = cwd;
    this.home = home;
    this.access = access;
    this.log = log;
    this.orders = orders;
    this.runs = new RunIndex(home, orders);
    this.data = new RunData(cwd);
    this.scripts = new ScriptRunner({ cwd, home, log });
  }

  checkReady(): void {
    if (this.#isDraining) throw new BusyFault('draining', 'The server is stopping. Try again in a minute.', 60);
  }

  /** Accepts no more work. What runs goes on until the server stops. Live views end, because they would never. */
  drain(): void {
    this.#isDraining = true;
    this.live.close();
  }
}
