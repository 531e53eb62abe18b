import { availableParallelism } from 'node:os';
import { Fault } from '../../base/fault.ts';
import { newCorrelationId } from '../../base/ids.ts';
import { SENT_FILE_BYTES_MAX } from '../../contracts/published-request/index.ts';
import { ProgressReader } from '../../publish/progress.ts';
import { tendScriptRuns } from '../../verbs/publish/expire-runs.ts';
import type { LiveRun } from '../../verbs/publish/published-view.ts';
import { cancelStaged, type PublishedOrder, runStaged, stagePublished } from '../../verbs/publish/run-published.ts';
import { tooLargeToSend } from '../../verbs/publish/sent-published.ts';
import type { ServerLog } from '../operation/log.ts';
import { LeftRuns } from './left-runs.ts';
import type { TokenQuotas } from '../access/identity.ts';
import { type OrderKey, OrderKeys } from './order-keys.ts';
import { refuseFull } from './order-terms.ts';
import { openScriptOrders } from './script-orders.ts';
import { type SendsScripts, SentScripts } from './sent-scripts.ts';

interface Waiting {
  readonly runId: string;
  readonly by: string;
  /** The digest of its version. */
  readonly version: string;
}

interface Running extends Waiting {
  readonly stop: AbortController;
  readonly progress: ProgressReader;
  readonly ended: Promise<void>;
}

interface ScriptRunnerOptions {
  readonly cwd: string;
  readonly home: string;
  readonly log: ServerLog;
  /** How workers run the scripts; undefined if this process does. */
  readonly workers?: ScriptWorkers | undefined;
  /** How many scripts this process runs at once. */
  readonly scripts?: number;
  /** How many runs of one identity may wait. */
  readonly waitingPerIdentity?: number;
}

interface OrderConditions {
  /** With it, a client can send the same order again. */
  readonly repeat?: OrderKey | undefined;
  /** Refuses a new order that the person may not make. */
  readonly check?: () => void;
  /** Those of the token of the person. */
  readonly quotas?: TokenQuotas | undefined;
}

export type ScriptWorkers = Omit<SendsScripts, 'cwd' | 'home' | 'log' | 'onRoom'>;

/** Runs published scripts, oldest order first: in this process, or on workers. An order is on disk before it is accepted. */
export class ScriptRunner {
  readonly #cwd: string;
  readonly #home: string;
  readonly #log: ServerLog;
  readonly #slots: number;
  readonly #waitingPerIdentity: number;
  #waiting: Waiting[] = [];
  readonly #running = new Map<string, Running>();
  readonly #left: LeftRuns;
  readonly #sent: SentScripts | undefined;
  /** Runs that an earlier server sent to workers, while this one sends none. */
  #strayed: ReadonlySet<string> = new Set();
  readonly #keys = new OrderKeys();
  #isStopping = false;
  #timer: NodeJS.Timeout | undefined;
  #tending: Promise<void> = Promise.resolve();

  constructor({ cwd, home, log, workers, scripts, waitingPerIdentity }: ScriptRunnerOptions) {
    this.#waitingPerIdentity = waitingPerIdentity ?? WAITING_PER_IDENTITY;
    this.#slots = scripts ?? Math.max(SLOTS_MIN, 2 * availableParallelism());
    this.#sent = workers && new SentScripts({ ...workers, cwd, home, log, onRoom: () => this.#startNext() });
    this.#cwd = cwd;
    this.#home = home;
    this.#log = log;
    this.#left = new LeftRuns({ cwd, log, again: run => this.#wait(run) });
  }

  /**
   * Accepts an order. Refuses bad inputs, and more orders than the server can hold. The same order with the same key is
   * accepted once.
   */
  order(
    order: PublishedOrder & { readonly by: string },
    { repeat, check, quotas }: OrderConditions = {},
  ): { readonly run_id: string; readonly position: number | null } {
    const known = repeat && this.#keys.find(order.by, repeat);
    if (known !== undefined) return this.#ordered(known);
    check?.();
    this.#checkRoom(order.by, quotas);
    if (this.#sent && order.files?.some(({ bytes }) => bytes > SENT_FILE_BYTES_MAX)) throw tooLargeToSend();
    const { runId, published } = stagePublished({ ...order, cwd: this.#cwd, ...(repeat && { repeat }) });
    if (repeat) this.#keys.keep(order.by, repeat, runId);
    this.#wait({ runId, by: order.by, version: published.digest });
    return this.#ordered(runId);
  }

  #checkRoom(by: string, quotas: TokenQuotas | undefined): void {
    const waiting = [...this.#waiting, ...(this.#sent?.waiting ?? [])];
    const own = waiting.filter(one => one.by === by).length;
    const limits = { waitingMax: WAITING_MAX, waitingPerIdentity: this.#waitingPerIdentity };
    refuseFull(limits, { all: waiting.length, own, quotas }, 'queue_full');
  }

  /** Whether a person has sent an order with this key. */
  knowsKey(by: string, key: string): boolean {
    return this.#keys.has(by, key);
  }

  #ordered(runId: string) {
    return { run_id: runId, position: this.live(runId).position ?? null };
  }

  #wait({ runId, by, version }: Waiting): void {
    this.#waiting.push({ runId, by, version });
    this.#startNext();
  }

  /** The runs that wait, and those that run, here or on workers. */
  open(): readonly { readonly kind: 'script'; readonly state: 'waiting' | 'running' }[] {
    const waiting = this.#waiting.map(() => ({ kind: 'script', state: 'waiting' }) as const);
    const running = Array.from(this.#running, () => ({ kind: 'script', state: 'running' }) as const);
    const sent = this.#sent?.states().map(state => ({ kind: 'script', state }) as const) ?? [];
    return [...waiting, ...running, ...sent];
  }

  /** What only this process knows about a run. */
  live(runId: string): LiveRun {
    const sent = this.#sent?.live(runId);
    if (sent) return sent;
    if (this.#strayed.has(runId)) return { waitsFor: STRAYED };
    const index = this.#waiting.findIndex(one => one.runId === runId);
    return {
      position: index < 0 ? null : index + 1 + (this.#sent?.waiting.length ?? 0),
      progress: this.#running.get(runId)?.progress.last ?? null,
    };
  }

  /** Stops a run, or takes back an order that waits. False if it has ended. */
  cancel(runId: string): boolean {
    const running = this.#running.get(runId);
    running?.stop.abort();
    return this.takeBack(runId) || this.#sent?.cancel(runId) === true || running !== undefined;
  }

  /** Takes back an order that waits. False if it does not wait. */
  takeBack(runId: string): boolean {
    if (!this.#waiting.some(one => one.runId === runId)) return false;
    // If the record cannot be written, the order keeps waiting, and the client gets the error.
    cancelStaged(this.#cwd, runId);
    this.#waiting = this.#waiting.filter(one => one.runId !== runId);
    return true;
  }

  /** Stops a run that was sent to workers, and waits a while until it has ended. Undefined for other runs. */
  async stopSent(runId: string): Promise<'ended' | 'stopping' | undefined> {
    return this.#sent?.cancelled(runId);
  }

  /** Accepts again the orders that a dead server left, and completes the runs that had begun. */
  resume(): void {
    const { unbegun, begun, sent, repeats } = openScriptOrders(this.#home, this.#log);
    for (const run of sent) this.#sent?.send(run);
    if (!this.#sent) {
      this.#strayed = new Set(sent.map(({ runId }) => runId));
      for (const runId of this.#strayed) this.#log.note('script_warning', { run_id: runId, message: STRAYED_LOG });
    }
    for (const { by, repeat, runId } of repeats) this.#keys.keep(by, repeat, runId);
    this.#waiting.push(...unbegun);
    this.#left.take(begun);
    this.#startNext();
  }

  /** Removes what is kept no longer, now and every ten minutes. */
  tend(): void {
    const onWarning = (message: string): void => this.#log.note('script_warning', { message });
    const once = async (): Promise<void> => {
      try {
        await tendScriptRuns(this.#cwd, { onWarning });
      } catch (error) {
        const fault = error instanceof Fault ? error : new Fault('bug', 'Retention failed.', { cause: error });
        this.#log.fault('retention', newCorrelationId(), fault);
      }
    };
    this.#tending = once();
    this.#timer = setInterval(() => {
      this.#tending = this.#tending.then(once);
    }, TEND_MS).unref();
  }

  /** Starts no more runs, waits for those that run, and stops them after a while. Orders that wait stay on disk. */
  async stop(drainMs: number): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#timer);
    const timer = setTimeout(() => {
      for (const { stop } of this.#running.values()) stop.abort();
    }, drainMs);
    await Promise.all(Array.from(this.#running.values(), ({ ended }) => ended));
    clearTimeout(timer);
    await Promise.all([this.#tending, this.#left.stop(), this.#sent?.stop()]);
  }

  #startNext(): void {
    if (this.#sent) return this.#sendNext(this.#sent);
    while (!this.#isStopping && this.#running.size < this.#slots) {
      const next = this.#waiting.shift();
      if (!next) return;
      const stop = new AbortController();
      const progress = new ProgressReader();
      const ended = this.#run(next, stop.signal, progress);
      this.#running.set(next.runId, { ...next, stop, progress, ended });
    }
  }

  #sendNext(workers: SentScripts): void {
    while (!this.#isStopping) {
      const index = this.#waiting.findIndex(({ version }) => workers.hasRoom(version));
      const [next] = index < 0 ? [] : this.#waiting.splice(index, 1);
      if (!next) return;
      workers.send(next);
    }
  }

  async #run(next: Waiting, signal: AbortSignal, progress: ProgressReader): Promise<void> {
    const { runId } = next;
    try {
      await runStaged(this.#cwd, runId, {
        signal,
        onOutput: (stream, bytes) => {
          if (stream === 'stdout') progress.take(bytes);
        },
        onWarning: sentence => this.#log.note('script_warning', { run_id: runId, message: sentence }),
      });
    } catch (error) {
      const fault = error instanceof Fault ? error : new Fault('bug', 'A run failed.', { cause: error });
      this.#log.fault('script_run', newCorrelationId(), fault);
      // A full disk can keep a run from being sealed, and its refusal from being noted.
      this.#left.takeLater({ ...next, isOver: true });
    } finally {
      this.#running.delete(runId);
      this.#startNext();
    }
  }
}

const STRAYED = 'the operator of this server, who sent this run to workers before';
const STRAYED_LOG =
  'An earlier server sent this run to workers. Start the server with --scripts-on workers to get its result.';
const TEND_MS = 600_000;
const SLOTS_MIN = 4;
const WAITING_MAX = 1_000;
const WAITING_PER_IDENTITY = 100;
