import { setTimeout as wait } from 'node:timers/promises';
import { instantText, systemClock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { newCorrelationId } from '../../base/ids.ts';
import { Slots } from '../../base/slots.ts';
import type { AttemptOutcome, AttemptRequest, Queue, QueueOverview } from '../../queue/queue.ts';
import { shownNeeds } from '../../queue/scripts.ts';
import { noteRun, readRecord } from '../../publish/script-runs.ts';
import type { LiveRun } from '../../verbs/publish/published-view.ts';
import { checkOffered, refuseRun } from '../../verbs/publish/run-published.ts';
import { Offers, sendStaged, type TakesRuns, takeSent } from '../../verbs/publish/sent-published.ts';
import type { ServerLog } from '../operation/log.ts';
import { cancelled, endOfReport, endWithoutReport } from './sent-ends.ts';

/*
 * What is written, in this order. The server may be killed between any two steps.
 *
 *  1. `ordered` and the inputs       The next server sends the run, or runs it itself.
 *  2. the files in the store         Stored again: the same bytes have the same name.
 *  3. `sent`                         From here on, only a worker may run the script.
 *  4. the offer                      Offered again: the same key is the same run.
 *  5. the run in the record          Removed, and fetched and verified again.
 *  6. the run folder                 It was verified before it appeared here, so it stays.
 *  7. the line in the ledger         Looked for in the whole ledger, and added if it is missing.
 *  8. `taken`                        The run has ended. Scans and inputs are completed as for other runs.
 */

/** How a server lets workers run its published scripts. */
export interface SendsScripts extends Omit<TakesRuns, 'onWarning'> {
  readonly home: string;
  readonly log: ServerLog;
  readonly queue: Queue;
  readonly overview: () => Promise<QueueOverview>;
  /** The pause before a run that was handed back is offered again; tests shorten it. */
  readonly handedBackMs?: number;
  /** Called when another run can be sent. */
  readonly onRoom?: () => void;
}

interface Ordered {
  readonly runId: string;
  readonly by: string;
}

/** A run that workers may make. */
interface SentRun extends Ordered {
  readonly stop: AbortController;
  /** Why it is stopped. */
  stopped: Fault | undefined;
  request: AttemptRequest | undefined;
  begunAtMs: number | undefined;
  waitsFor: string | null;
  over: Promise<void>;
}

/**
 * The runs of published scripts that workers make. The queue lets each begin at most once, and what a run needs is on disk
 * before it is offered, so the next server goes on where this one stopped.
 */
export class SentScripts {
  readonly #options: SendsScripts;
  /** Asks the queue every second, so it exists only while there are runs. */
  #offers: Offers | undefined;
  readonly #runs = new Map<string, SentRun>();
  readonly #sending = new Slots(SENDING_MAX);
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;
  readonly #closing = new AbortController();

  constructor(options: SendsScripts) {
    this.#options = options;
  }

  /** Whether another run of a version can be offered. Runs that no worker may make do not keep other versions waiting. */
  hasRoom(version: string): boolean {
    const runs = [...this.#runs.values()];
    const stuck = runs.filter(({ waitsFor }) => waitsFor !== null);
    if (stuck.some(({ request }) => request?.script?.sha256 === version)) return false;
    return runs.length - stuck.length < OFFERED_MAX;
  }

  states(): readonly ('waiting' | 'running')[] {
    return Array.from(this.#runs.values(), ({ begunAtMs }) => (begunAtMs === undefined ? 'waiting' : 'running'));
  }

  /** The runs that wait for a worker. */
  get waiting(): readonly Ordered[] {
    return [...this.#runs.values()].filter(({ begunAtMs }) => begunAtMs === undefined);
  }

  /** Sends a run to the workers, or goes on with one that an earlier server sent. */
  send({ runId, by }: Ordered): void {
    const run: SentRun = {
      runId,
      by,
      stop: new AbortController(),
      stopped: undefined,
      request: undefined,
      begunAtMs: undefined,
      waitsFor: null,
      over: Promise.resolve(),
    };
    this.#runs.set(runId, run);
    this.#timer ??= setInterval(() => void this.#look(), LOOK_MS);
    const { queue, log, home, handedBackMs } = this.#options;
    const onWarning = (message: string): void => log.note('script_warning', { message });
    this.#offers ??= new Offers(queue, 'scripts', onWarning, handedBackMs);
    if (readRecord(home, runId)?.isStopping) this.#stop(run, cancelled());
    run.over = this.#follow(run).finally(() => {
      this.#runs.delete(runId);
      if (this.#runs.size === 0) this.#rest();
      if (!this.#closing.signal.aborted) this.#options.onRoom?.();
    });
  }

  live(runId: string): LiveRun | undefined {
    const run = this.#runs.get(runId);
    if (!run) return undefined;
    const { begunAtMs, waitsFor } = run;
    const before = this.waiting.indexOf(run);
    return { position: before < 0 ? null : before + 1, progress: null, begunAtMs, waitsFor };
  }

  /** Stops a run. False if it was not sent, or has ended. The wish survives a crash of the server. */
  cancel(runId: string): boolean {
    const run = this.#runs.get(runId);
    if (!run) return false;
    if (!run.stopped) noteRun(this.#options.home, runId, { is: 'stopping', at: now() });
    this.#stop(run, cancelled());
    return true;
  }

  /** Stops a run, and waits a while until it has ended. Undefined if it was not sent. */
  async cancelled(runId: string): Promise<'ended' | 'stopping' | undefined> {
    const over = this.#runs.get(runId)?.over;
    if (!over || !this.cancel(runId)) return undefined;
    const late = new AbortController();
    await Promise.race([over, wait(STOP_MS, undefined, { signal: late.signal }).catch(() => undefined)]);
    late.abort();
    return this.#runs.has(runId) ? 'stopping' : 'ended';
  }

  /** Leaves the runs to the workers and to the next server. */
  async stop(): Promise<void> {
    this.#closing.abort();
    this.#rest();
    await Promise.all(Array.from(this.#runs.values(), ({ over }) => over));
  }

  #rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#offers?.leave();
    this.#offers = undefined;
  }

  #stop(run: SentRun, why: Fault): void {
    run.stopped ??= why;
    run.stop.abort();
  }

  /** Repeats what fails for a reason that may pass, such as a full disk or a store that cannot be reached. */
  async #follow(run: SentRun): Promise<void> {
    for (let pauseMs = AGAIN_MS; !this.#closing.signal.aborted; pauseMs = Math.min(2 * pauseMs, AGAIN_MS_MAX)) {
      try {
        run.request ??= await this.#sent(run);
        if (!run.request || (await this.#isOver(run, run.request))) return;
      } catch (error) {
        const fault = error instanceof Fault ? error : new Fault('bug', 'A run failed.', { cause: error });
        this.#options.log.fault('script_run', newCorrelationId(), fault);
      }
      // A stop ends the pause, once.
      const stop = run.stop.signal.aborted ? [] : [run.stop.signal];
      const signal = AbortSignal.any([this.#closing.signal, ...stop]);
      await wait(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Undefined if the run was refused before it was sent. */
  async #sent(run: SentRun): Promise<AttemptRequest | undefined> {
    const { cwd, home, store } = this.#options;
    const { runId } = run;
    const free = await this.#sending.take();
    const isSent = readRecord(home, runId)?.sent !== undefined;
    try {
      // The next server sends it.
      if (this.#closing.signal.aborted) return undefined;
      if (run.stopped && !isSent) throw run.stopped;
      const request = await sendStaged(cwd, runId, store);
      run.waitsFor = null;
      return request;
    } catch (error) {
      if (isSent || (error instanceof Fault && mayPass(error))) {
        if (!isSent) run.waitsFor = NOT_SENT;
        throw error;
      }
      refuseRun(home, runId, error);
      return undefined;
    } finally {
      free();
    }
  }

  /** False if the server stops before the run has ended. */
  async #isOver(run: SentRun, request: AttemptRequest): Promise<boolean> {
    const outcome = await this.#outcomeOf(run, request);
    if (this.#closing.signal.aborted) return false;
    const { home, queue, log } = this.#options;
    const { runId } = run;
    if (outcome?.is === 'reported') await this.#take(runId, outcome);
    else {
      const { fault, why } = endWithoutReport(outcome, run.stopped);
      if (why !== undefined) log.note(fault.code, { run_id: runId, message: why });
      refuseRun(home, runId, fault, why);
    }
    // The queue forgets the run later if this fails.
    await queue.markSealed(runId).catch(() => undefined);
    return true;
  }

  /** Undefined if the run was stopped before a worker began it. */
  async #outcomeOf(run: SentRun, request: AttemptRequest): Promise<AttemptOutcome | undefined> {
    const { queue } = this.#options;
    const { signal } = run.stop;
    const offers = this.#offers;
    if (!offers) return undefined;
    if (!signal.aborted) {
      const dropped = new Promise<void>(resolve => {
        signal.addEventListener('abort', () => resolve(offers.drop(request.key)), { once: true });
      });
      const outcome = await offers.outcomeOf(request, signal);
      if (outcome || this.#closing.signal.aborted) return outcome;
      await dropped;
    }
    await queue.withdraw(run.runId);
    return (await queue.outcomes([request.key], { waitMs: 0 })).get(request.key);
  }

  async #take(runId: string, { worker, report }: AttemptOutcome & { readonly is: 'reported' }): Promise<void> {
    const { home, log } = this.#options;
    const onWarning = (message: string): void => log.note('script_warning', { run_id: runId, message });
    const not = await takeSent(runId, report, { ...this.#options, onWarning });
    if (!not) return;
    const { fault, why } = endOfReport(worker, not);
    log.note(fault.code, { run_id: runId, message: why });
    refuseRun(home, runId, fault, why);
  }

  /** Once a second: which runs a worker makes, whether a worker is there for the others, and whether they may still begin. */
  async #look(): Promise<void> {
    const runs = [...this.#runs.values()].filter(({ request }) => request !== undefined);
    if (this.#isLooking || runs.length === 0) return;
    this.#isLooking = true;
    try {
      const { queue, overview, home } = this.#options;
      const begun = await queue.begun(runs.flatMap(({ request }) => request?.key ?? []));
      for (const run of runs) {
        run.begunAtMs = begun.get(run.request?.key ?? '');
        if (run.begunAtMs !== undefined) run.waitsFor = null;
      }
      const waiting = runs.filter(({ begunAtMs }) => begunAtMs === undefined);
      const { needs } = waiting.length > 0 ? await overview() : { needs: [] };
      for (const run of waiting) {
        const { request } = run;
        const row = request && needs.find(one => one.needs === shownNeeds(request));
        run.waitsFor = row && row.workers === 0 ? NO_WORKER : null;
        const refused = checkOffered(home, run.runId);
        if (refused) this.#stop(run, refused);
      }
      if (!this.#closing.signal.aborted) this.#options.onRoom?.();
    } catch {
      // The queue cannot be reached. The offers say so, and the next round tries again.
    } finally {
      this.#isLooking = false;
    }
  }
}

function now(): string {
  return instantText(systemClock.now());
}

const NO_WORKER = 'a worker that may run this script';

const NOT_SENT = 'the operator of this server, because the run could not be sent to the workers';

/** Whether a run that was not sent can be sent later. What is wrong with the store or the disk is no fault of the order. */
function mayPass({ code }: Fault): boolean {
  return code.startsWith('store_') || code === 'journal_failed';
}

/** Each reads and hashes files of up to 64 MiB. */
const SENDING_MAX = 2;
/** As many runs that workers may make are offered at once, so that suites of the same queue get their turn. */
const OFFERED_MAX = 32;
const LOOK_MS = 1_000;
const STOP_MS = 10_000;
const AGAIN_MS = 2_000;
const AGAIN_MS_MAX = 60_000;
