import { Fault } from '../../base/fault.ts';
import { ScriptRunList } from '../../verbs/publish/published-view.ts';
import { ReadingThreads } from '../../verbs/reading/reading-threads.ts';
import { BusyFault } from '../operation/busy-fault.ts';
import type { Access } from '../access/access.ts';
import { LiveHub } from '../live/hub.ts';
import { ScriptLive } from '../live/script-live.ts';
import type { ServerLog } from '../operation/log.ts';
import { packSlots, uploadSlots, viewerSlots } from '../operation/slots.ts';
import type { ServerMetrics } from '../operation/metrics.ts';
import type { Ordering } from '../orders/open-orders.ts';
import { ScriptRunner, type ScriptWorkers } from '../orders/script-runner.ts';
import type { Orders } from '../orders/orders.ts';
import type { TeamQueue } from '../workers/team-queue.ts';
import { Pages } from './pages.ts';
import { FileData } from '../runs/file-data.ts';
import { HistoryData } from '../runs/history-data.ts';
import { EvidenceData } from '../runs/evidence-data.ts';
import { ComparisonIndex } from '../runs/comparisons.ts';
import { RunData } from '../runs/run-data.ts';
import { RunIndex } from '../runs/run-index.ts';
import { RunPages } from '../runs/run-list.ts';

/** What the routes act on. */
export class Server {
  /** The project folder. */
  readonly cwd: string;
  /** The `.proctor` folder. */
  readonly home: string;
  readonly access: Access;
  readonly log: ServerLog;
  readonly metrics: ServerMetrics;
  readonly pages = new Pages();
  readonly runs: RunIndex;
  /** Threads that read large folders. */
  readonly threads = new ReadingThreads();
  readonly runPages: RunPages;
  readonly data: RunData;
  readonly comparisons: ComparisonIndex;
  readonly evidence: EvidenceData;
  readonly history: HistoryData;
  readonly files: FileData;
  readonly uploads = uploadSlots(4, 2);
  /** Forms and orders above 1 MiB, of up to 256 MiB each. */
  readonly largeBodies = uploadSlots(32, 8);
  readonly packs = packSlots(8, 4);
  /** Streams of events that are open. */
  readonly viewers = viewerSlots();
  readonly live = new LiveHub();
  readonly scriptLive = new ScriptLive();
  /** Runs of published scripts. */
  readonly scripts: ScriptRunner;
  readonly scriptRuns: ScriptRunList;
  readonly orders: Orders;
  readonly #team: TeamQueue | undefined;
  #isDraining = false;

  constructor({ cwd, home, access, log, orders, metrics, team, workers, ordering }: ServerParts) {
    this.#team = team;
    this.metrics = metrics;
    this.cwd = cwd;
    this.home = home;
    this.access = access;
    this.log = log;
    this.orders = orders;
    this.runs = new RunIndex(home, orders);
    this.runPages = new RunPages(this.runs);
    this.data = new RunData(cwd, this.threads);
    this.files = new FileData(cwd, this.threads);
    this.comparisons = new ComparisonIndex({ cwd, home, threads: this.threads });
    this.history = new HistoryData({ cwd, home, runs: this.runs, threads: this.threads });
    this.evidence = new EvidenceData({ cwd, home, threads: this.threads });
    this.scripts = new ScriptRunner({ cwd, home, log, workers, ...ordering });
    this.scriptRuns = new ScriptRunList(home);
  }

  /** Whether workers can get attempts here. */
  get hasTeam(): boolean {
    return this.#team !== undefined;
  }

  /** The queue of the team. */
  get team(): TeamQueue {
    if (this.#team) return this.#team;
    throw new Fault('no_queue', 'This server has no queue. Its operator can start it with --queue.');
  }

  /** Whether a refusal is logged as a part of an outage of the queue. */
  isOutage(fault: Fault): boolean {
    return this.#team?.contact.takes(fault) === true;
  }

  /** The metrics of this moment. They answer also while the database does not. */
  async measured(): Promise<{ readonly text: string; readonly type: string }> {
    const { metrics, viewers, runs, orders, scripts } = this;
    await this.#team?.sample();
    const open = [...orders.open().map(({ ordered: { kind }, state }) => ({ kind, state })), ...scripts.open()];
    metrics.sample({ viewers: viewers.count, runFolders: runs.places().length, orders: open });
    return metrics.text();
  }

  checkReady(): void {
    if (this.#isDraining) throw new BusyFault('draining', 'The server is stopping. Try again in a minute.', 60);
  }

  /** Accepts no more work. What runs goes on until the server stops. Live views end, because they would never. */
  drain(): void {
    this.#isDraining = true;
    this.live.close();
    this.scriptLive.drain();
    this.#team?.drain();
  }
}

interface ServerParts extends Pick<Server, 'cwd' | 'home' | 'access' | 'log' | 'orders' | 'metrics'> {
  readonly team?: TeamQueue | undefined;
  /** How workers run published scripts. */
  readonly workers?: ScriptWorkers | undefined;
  readonly ordering?: Partial<Pick<Ordering, 'scripts' | 'waitingPerIdentity'>>;
}
