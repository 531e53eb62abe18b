import { Fault } from '../../base/fault.ts';
import { newCorrelationId } from '../../base/ids.ts';
import { endAbandoned, recoverPublished } from '../../verbs/publish/recover-published.ts';
import type { ServerLog } from '../operation/log.ts';

/** A run of a published script that has begun, or may have, and that no process runs. */
interface LeftRun {
  readonly runId: string;
  readonly by: string;
  /** The digest of its version. */
  readonly version: string;
  /** It belongs to this process, and is over. */
  readonly isOver?: boolean;
}

interface LeftRunsOptions {
  readonly cwd: string;
  readonly log: ServerLog;
  /** Puts an order back into the queue, because its script has not started. */
  readonly again: (run: LeftRun) => void;
}

/** Completes the runs that a dead server left, and those that this one could not complete. Tries until it succeeds. */
export class LeftRuns {
  readonly #options: LeftRunsOptions;
  readonly #left = new Map<string, LeftRun>();
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> = Promise.resolve();
  #isStopping = false;

  constructor(options: LeftRunsOptions) {
    this.#options = options;
  }

  has(runId: string): boolean {
    return this.#left.has(runId);
  }

  /** Takes runs that a dead server left. */
  take(runs: readonly LeftRun[]): void {
    if (runs.length === 0) return;
    for (const run of runs) this.#left.set(run.runId, run);
    this.#work(true);
  }

  /** Takes a run of this process that could not be completed, and tries again in a moment. */
  takeLater(run: LeftRun): void {
    this.#left.set(run.runId, run);
    this.#timer ??= setTimeout(() => this.#work(), AGAIN_MS).unref();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#timer);
    await this.#working;
  }

  #work(isStart = false): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#working = this.#working.then(() => this.#round(isStart));
  }

  async #round(isStart: boolean): Promise<void> {
    const { log } = this.#options;
    if (isStart) await endAbandoned().catch(error => log.fault('left_run', newCorrelationId(), faultOf(error)));
    for (const run of this.#left.values()) if (!this.#isStopping) await this.#settle(run);
    if (this.#left.size > 0 && !this.#isStopping) this.#timer ??= setTimeout(() => this.#work(), AGAIN_MS).unref();
  }

  async #settle(run: LeftRun): Promise<void> {
    const { cwd, log, again } = this.#options;
    const { runId, isOver = false } = run;
    const onWarning = (message: string): void => log.note('script_warning', { run_id: runId, message });
    try {
      const became = await recoverPublished(cwd, runId, { isOver, onWarning });
      if (became === 'alive') return;
      this.#left.delete(runId);
      log.note('script_recovered', { run_id: runId, became });
      if (became === 'unbegun') again(run);
    } catch (error) {
      log.fault('left_run', newCorrelationId(), faultOf(error));
    }
  }
}

function faultOf(cause: unknown): Fault {
  return cause instanceof Fault ? cause : new Fault('bug', 'A run could not be completed.', { cause });
}

const AGAIN_MS = 2_000;
