import { setTimeout as pause } from 'node:timers/promises';
import { monotonicMs } from '../../base/clock.ts';
import type { AttemptClaim, Queue, QueueWait, WorkerOffer } from '../../queue/queue.ts';
import { BusyFault } from '../operation/busy-fault.ts';
import type { TeamMetrics } from '../operation/team-metrics.ts';

/**
 * Claims for all waiting workers. Workers with the same offer share a few loops, so a thousand of them cost the database
 * little more than one.
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
    const name = JSON.stringify([offer.protocols.toSorted((a, b) => a - b), offer.needs.toSorted(), offer.scripts]);
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

/**
 * Workers with the same offer. If the queue has nothing for one of them, it has nothing for the others, except an attempt
 * that the key of one must not make. So they take turns.
 */
class OfferGroup {
  readonly #queue: Queue;
  readonly #metrics: TeamMetrics;
  readonly #waiters = new Set<Waiter>();
  #loops = 0;
  /** Whether a loop waits for work. The others only ask. */
  #isWaiting = false;
  /** Whether the queue had something at the last answer, so that it may have more. */
  #hasWork = false;

  constructor(queue: Queue, metrics: TeamMetrics) {
    this.#queue = queue;
    this.#metrics = metrics;
  }

  get isIdle(): boolean {
    return this.#waiters.size === 0 && this.#loops === 0;
  }

  join(offer: WorkerOffer, free: number, { waitMs, signal }: QueueWait): Promise<readonly AttemptClaim[]> {
    return new Promise((resolve, reject) => {
      const gone = (): void => {
        if (waiter.asking) waiter.asking.abort();
        else waiter.end([]);
      };
      const leave = (): void => {
        signal?.removeEventListener('abort', gone);
        this.#waiters.delete(waiter);
      };
      const waiter: Waiter = {
        offer,
        free,
        signal,
        endMs: monotonicMs() + waitMs,
        isNew: true,
        asking: undefined,
        end: claims => {
          leave();
          resolve(claims);
        },
        fail: error => {
          leave();
          reject(error);
        },
      };
      signal?.addEventListener('abort', gone, { once: true });
      this.#waiters.add(waiter);
      this.#start();
    });
  }

  close(): void {
    for (const waiter of this.#waiters) {
      waiter.endMs = Number.NEGATIVE_INFINITY;
      waiter.asking?.abort();
    }
  }

  /** Claims take turns with the database, so that one slow answer does not delay every worker. */
  #start(): void {
    if (this.#loops < LOOPS_MAX) void this.#serve();
    // All loops are busy, and the one that waits could do something else.
    else for (const { asking, isNew } of this.#waiters) if (!isNew) asking?.abort();
  }

  /** Asks once for every worker that has just come, because that also notes it as alive; then for each in turn. */
  async #serve(): Promise<void> {
    this.#loops++;
    for (;;) {
      const endMs = this.#dismiss();
      const waiter = this.#next();
      if (!waiter) break;
      const { offer, free, isNew } = waiter;
      const isLong = !isNew && !this.#isWaiting;
      this.#isWaiting ||= isLong;
      waiter.asking = new AbortController();
      try {
        const waitMs = isLong ? Math.min(ASK_MS, Math.max(0, endMs - monotonicMs())) : 0;
        const asked = this.#queue.claim(offer, free, { waitMs, signal: waiter.asking.signal });
        const claims = await (waitMs === 0 ? this.#metrics.timed('claim', asked) : this.#metrics.watched(asked));
        this.#hasWork = claims.length > 0;
        if (claims.length > 0) waiter.end(claims);
        else this.#goLast(waiter);
      } catch (error) {
        // Workers ask again at once, so they wait here while the database is unavailable.
        await pause(FAULT_MS);
        this.#hasWork = false;
        // The other loops answer those for whom they ask.
        for (const one of this.#waiters) if (one === waiter || !one.asking) one.fail(error);
      } finally {
        waiter.asking = undefined;
        waiter.isNew = false;
        if (isLong) this.#isWaiting = false;
      }
      if (this.#hasWork) this.#start();
    }
    this.#loops--;
  }

  /** The worker to ask for: a new one, else the next in turn, if there may be work or no other loop waits for it. */
  #next(): Waiter | undefined {
    let first: Waiter | undefined;
    for (const waiter of this.#waiters) {
      if (waiter.asking) continue;
      if (waiter.isNew) return waiter;
      first ??= waiter;
    }
    return this.#hasWork || !this.#isWaiting ? first : undefined;
  }

  #goLast(waiter: Waiter): void {
    if (this.#waiters.delete(waiter)) this.#waiters.add(waiter);
  }

  /** Answers workers whose time is over or that went away. Returns when the next time is over. */
  #dismiss(): number {
    const nowMs = monotonicMs();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const { isNew, asking, endMs, signal, end } of this.#waiters) {
      if (asking) continue;
      if (signal?.aborted === true || (!isNew && endMs <= nowMs)) end([]);
      else if (endMs < nextMs) nextMs = endMs;
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
  /** Ends the question of the loop that asks for this worker. */
  asking: AbortController | undefined;
  readonly end: (claims: readonly AttemptClaim[]) => void;
  readonly fail: (error: unknown) => void;
}

/** One less than the connections of the queue, so that workers can also beat and settle. */
const LOOPS_MAX = 3;
const WAITING_MAX = 2_000;
const RETRY_S = 5;
const ASK_MS = 5_000;
const FAULT_MS = 500;
