import type { RemoteRules } from '../../verbs/remote-suite.ts';
import type { ServerLog } from '../operation/log.ts';
import { serverFolder } from '../state/server-folder.ts';
import { intentOrders } from './intent-orders.ts';
import { Orders } from './orders.ts';
import { suiteOrders } from './suite-orders.ts';

/** How a server runs what its clients order. */
export interface Ordering extends RemoteRules {
  /** How many suites run at once. */
  readonly runs: number;
  /** How many intents run at once. */
  readonly intents: number;
  /** How many published scripts run at once on this machine. */
  readonly scripts: number;
  /** How many orders of one identity may wait. */
  readonly waitingPerIdentity: number;
  /** The environment of the processes that run suites; that of the server by default. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Interrupts running suites when the server stops. */
  readonly stopsRuns: boolean;
}

/** Reads the orders of a project. */
export function openOrders(cwd: string, home: string, log: ServerLog, ordering: Partial<Ordering>): Orders {
  const {
    secrets = {},
    origins = [],
    runs = RUNS,
    intents = INTENTS,
    waitingPerIdentity = WAITING_PER_IDENTITY,
    environment,
    queue,
    store,
  } = ordering;
  return new Orders({
    root: serverFolder(home, 'orders'),
    log,
    kinds: {
      suite: suiteOrders({ cwd, home, environment, store, rules: { secrets, origins, queue, store } }),
      intent: intentOrders({ cwd, home, log }),
    },
    limits: { atOnce: { suites: runs, intents }, waitingMax: WAITING_MAX, waitingPerIdentity },
  });
}

const RUNS = 2;
const INTENTS = 4;
const WAITING_MAX = 1_000;
const WAITING_PER_IDENTITY = 100;
