import { setTimeout as pause } from 'node:timers/promises';
import { monotonicMs } from '../../base/clock.ts';
import type { AttemptClaim, Queue, QueueWait, WorkerOffer } from '../../queue/queue.ts';
import { BusyFault } from '../operation/busy-fault.ts';
import type { TeamMetrics } from '../operation/team-metrics.ts';

/**
 * Claims for all waiting workers. Workers with the same offer share one loop, so a thousand of them cost the database no
 * more than one.
 */
export class ClaimDesk {
  readonly #queue: Queue;
  readonly #metrics: TeamMetrics;
  readonly #groups = new Map<string, OfferGroup>();
  #waiting = 0;
  #isClosed = false;

  constructor(queue: Queue, metrics: TeamMetrics) {
    this.#queue = queue;
    this.#metrics = metrics;
  }

  get waiting(): number {
    return this.#waiting;
  }

  async claim(offer: WorkerOffer, free: number, wait: QueueWait): Promise<readonly AttemptClaim[]> {
    if (this.#isClosed) return [];
    if (this.#waiting >= WAITING_MAX)
      throw new BusyFault('too_many_workers', 'Too many workers wait at this server. Try again later.', RETRY_S);
    const name = JSON.stringify([offer.protocols.toSorted((a, b) => a - b), offer.needs.toSorted()]);
    const group = this.#groups.get(name) ?? new OfferGroup(this.#queue, this.#metrics);
    this.#groups.set(name, group);
    this.#waiting++;
    try {
      return await group.join(offer, free, wait);
    } finally {
      this.#waiting--;
      if (group.isIdle) this.#groups.delete(name);
    }
  }

  /** Answers all workers that wait. */
  close(): void {
    this.#isClosed = true;
    for (const group of this.#groups.values()) group.close();
  }
}

/** Workers with the same offer. If the queue has nothing for one of them, it has nothing for the others. */
class OfferGroup {
  readonly #queue: Queue;
  readonly #metrics: TeamMetrics;
  readonly #waiters = new Set<Waiter>();
  /** Ends the wait of the worker that asks for all. */
  #nudge = new AbortController();
  #isServing = false;

  constructor(queue: Queue, metrics: TeamMetrics) {
    this.#queue = queue;
    this.#metrics = metrics;
  }

  get isIdle(): boolean {
    return this.#waiters.size === 0 && !this.#isServing;
  }

  join(offer: WorkerOffer, free: number, { waitMs, signal }: QueueWait): Promise<readonly AttemptClaim[]> {
    return new Promise((resolve, reject) => {
      const wake = (): void => this.#nudge.abort();
      const waiter: Waiter = {
        offer,
        free,
        signal,
        endMs: monotonicMs() + waitMs,
        isNew: true,
        leave: () => {
          signal?.removeEventListener('abort', wake);
          this.#waiters.delete(waiter);
        },
        resolve,
        reject,
      };
      signal?.addEventListener('abort', wake, { once: true });
      this.#waiters.add(waiter);
      wake();
      if (!this.#isServing) void this.#serve();
    });
  }

  close(): void {
    for (const waiter of this.#waiters) waiter.endMs = Number.NEGATIVE_INFINITY;
    this.#nudge.abort();
  }

  /** Asks once for every worker that has just come, because that also notes it as alive; then for the oldest. */
  async #serve(): Promise<void> {
    this.#isServing = true;
    for (;;) {
      this.#nudge = new AbortController();
      const endMs = this.#dismiss();
      const waiter = [...this.#waiters].find(({ isNew }) => isNew) ?? [...this.#waiters][0];
      if (!waiter) break;
      const waitMs = waiter.isNew ? 0 : Math.min(ASK_MS, Math.max(0, endMs - monotonicMs()));
      waiter.isNew = false;
      try {
        const { offer, free, leave, resolve } = waiter;
        const asked = this.#queue.claim(offer, free, { waitMs, signal: this.#nudge.signal });
        const claims = await (waitMs === 0 ? this.#metrics.timed('claim', asked) : this.#metrics.watched(asked));
        if (claims.length === 0) continue;
        leave();
        resolve(claims);
      } catch (error) {
        // Workers ask again at once, so they wait here while the database is unavailable.
        await pause(FAULT_MS);
        for (const { leave, reject } of this.#waiters) {
          leave();
          reject(error);
        }
      }
    }
    this.#isServing = false;
  }

  /** Answers workers whose time is over or that went away. Returns when the next time is over. */
  #dismiss(): number {
    const nowMs = monotonicMs();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const { isNew, endMs, signal, leave, resolve } of this.#waiters) {
      if (signal?.aborted === true || (!isNew && endMs <= nowMs)) {
        leave();
        resolve([]);
      } else if (endMs < nextMs) nextMs = endMs;
    }
    return nextMs;
  }
}

interface Waiter {
  readonly offer: WorkerOffer;
  readonly free: number;
  readonly signal: AbortSignal | undefined;
  endMs: number;
  /** The queue was not yet asked for this worker. */
  isNew: boolean;
  readonly leave: () => void;
  readonly resolve: (claims: readonly AttemptClaim[]) => void;
  readonly reject: (error: unknown) => void;
}

const WAITING_MAX = 2_000;
const RETRY_S = 5;
const ASK_MS = 5_000;
const FAULT_MS = 500;
