import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { RunFolder } from '../../evidence/run-folder/runs.ts';
import { layOutRemoteSuite, refuseRunInQueue, type RemoteRules, type RemoteSuite } from '../../verbs/remote-suite.ts';
import {
  type CommandOwner,
  interruptOwnCommand,
  isCommandAlive,
  removeUnwrittenRun,
  startSuiteProcess,
  suiteLife,
  suiteRefusal,
} from '../../verbs/suite-process.ts';
import { filesOf } from './order-folder.ts';
import type { OrderEnd, OrderKind, OrderRunning, OrderToRun } from './order-kind.ts';

export interface SuiteOrdersOptions {
  readonly cwd: string;
  readonly home: string;
  /** The environment of the processes that run suites; that of the server by default. */
  readonly environment: Readonly<Record<string, string | undefined>> | undefined;
  readonly rules: RemoteRules;
  /** The store of the queue: a folder, or `s3://…`. */
  readonly store: string | undefined;
}

/** What the journal of a suite order stores. `suite` is null if the run existed before the order. */
export interface SuiteOrderInput {
  readonly lane: 'baseline' | 'new';
  readonly suite: Omit<RemoteSuite, 'runId' | 'folder'> | null;
}

/** Suites run in processes of their own, so they survive the server. */
export function suiteOrders(options: SuiteOrdersOptions): OrderKind {
  const { cwd, home, rules } = options;
  const placeOf = ({ id, ordered }: Pick<OrderToRun, 'id' | 'ordered'>): RunFolder => {
    const { lane } = ordered.input as unknown as SuiteOrderInput;
    return { id, lane, folder: path.join(home, 'runs', lane, id) };
  };
  const prepare: OrderKind['prepare'] = async order => {
    const { suite } = order.ordered.input as unknown as SuiteOrderInput;
    if (order.isLaid || suite === null) return;
    const place = placeOf(order);
    // After a crash, the run folder may be complete although the order does not say so yet.
    if (order.isNew || !suiteLife(place).isPlanned) {
      if (!order.isNew) removeUnwrittenRun(place);
      await layOutRemoteSuite({ ...suite, runId: order.id, folder: filesOf(order.folder) }, rules, cwd);
    }
    if (suite.queue) await refuseRunInQueue(place, rules);
  };
  return {
    lane: 'suites',
    outlives: true,
    prepare,
    run: async (order, running) => {
      if (!order.isLaid) {
        await prepare(order);
        running.note({ is: 'laid' });
      }
      return new SuiteWatch(placeOf(order), order, running, options).untilOver();
    },
  };
}

/** Follows one suite until it is sealed and judged, and starts its process if none runs it. */
class SuiteWatch {
  readonly #place: RunFolder;
  readonly #running: OrderRunning;
  readonly #options: SuiteOrdersOptions;
  readonly #resultFile: string;
  #owner: CommandOwner | undefined;
  #starts = 0;

  constructor(place: RunFolder, order: OrderToRun, running: OrderRunning, options: SuiteOrdersOptions) {
    this.#place = place;
    this.#running = running;
    this.#options = options;
    this.#resultFile = path.join(order.folder, 'result.json');
    this.#owner = order.owner;
  }

  async untilOver(): Promise<OrderEnd> {
    const { cancel, leave } = this.#running;
    for (;;) {
      await this.#untilOwnerEnds();
      if (leave.aborted) return undefined;
      const { life, owner, isUnjudged } = suiteLife(this.#place);
      this.#owner = owner;
      if (life === 'finished' && (!isUnjudged || cancel.aborted)) return FINISHED;
      if (life === 'gone') return failed('The run folder was removed.');
      if (life === 'foreign' || life === 'unknown') return failed("Proctor cannot prove the run's journal.");
      if (life === 'alive') continue;
      if (cancel.aborted) return { how: 'cancelled', message: null };
      if (++this.#starts > STARTS_MAX && isUnjudged) return { how: 'finished', message: UNJUDGED };
      if (this.#starts > STARTS_MAX) return failed(`The process of the run died ${STARTS_MAX} times.`);
      const code = await this.#start();
      if (code === null || leave.aborted || cancel.aborted) continue;
      const end = await this.#refusedOrStopped(code);
      if (end) return end;
    }
  }

  /** Starts the process, and waits until it ends. */
  async #start(): Promise<number | null> {
    const { cwd, environment, store } = this.#options;
    const { owner, ended } = startSuiteProcess(this.#place, { cwd, environment, store }, this.#resultFile);
    if (!owner) return ended;
    this.#owner = owner;
    this.#noteStarted(owner);
    const [code] = await Promise.all([ended, this.#untilOwnerEnds()].map(one => Promise.race([one, this.#left()])));
    return typeof code === 'number' ? code : null;
  }

  /** Without the line, the next server finds the process by the journal of the run, or by its lock. */
  #noteStarted(owner: CommandOwner): void {
    try {
      this.#running.note({ is: 'started', owner });
    } catch {
      // The process runs, so the order must not end because the disk is full.
    }
  }

  /** How a process that ended by itself leaves an open run; undefined if another process runs it. */
  async #refusedOrStopped(code: number): Promise<OrderEnd> {
    const { life, isUnjudged } = suiteLife(this.#place);
    if (life !== 'dead' && !isUnjudged) return undefined;
    const refusal = suiteRefusal(this.#resultFile);
    if (refusal?.code === 'alive') {
      // Another process holds the lock of the run. It will soon name itself in the journal, or it judges the answers.
      this.#starts = 0;
      await wait(STARTING_MS);
      return undefined;
    }
    if (isUnjudged) return code === INTERRUPTED ? FINISHED : { how: 'finished', message: refusal?.message ?? UNJUDGED };
    if (code === INTERRUPTED) return { how: 'cancelled', message: null };
    return failed(refusal?.message ?? `The process of the run ended with exit code ${code}.`);
  }

  /** Waits while the process lives. A cancelled order interrupts it. */
  async #untilOwnerEnds(): Promise<void> {
    let isTold = false;
    while (this.#owner && isCommandAlive(this.#owner) && !this.#running.leave.aborted) {
      if (this.#running.cancel.aborted && !isTold) {
        isTold = true;
        interruptOwnCommand(this.#owner);
      }
      await wait(LOOK_MS);
    }
  }

  #left(): Promise<void> {
    const { leave } = this.#running;
    return new Promise(resolve => {
      if (leave.aborted) resolve();
      else leave.addEventListener('abort', () => resolve(), { once: true });
    });
  }
}

function failed(message: string): OrderEnd {
  return { how: 'failed', message };
}

const FINISHED: OrderEnd = { how: 'finished', message: null };
const UNJUDGED = 'All cases were sent and sealed, but the answers could not be judged. Resume the run to judge them.';
const STARTS_MAX = 5;
const LOOK_MS = 50;
const STARTING_MS = 500;
const INTERRUPTED = 130;
