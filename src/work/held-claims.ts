import { monotonicMs } from '../base/clock.ts';
import { isDatabaseDown } from '../queue/database-down.ts';
import type { AttemptClaim, Queue } from '../queue/queue.ts';

/** An attempt that this worker makes. */
export interface HeldClaim {
  readonly claim: AttemptClaim;
  /** Aborted when the attempt must stop: it is no longer ours, or the worker shuts down. */
  readonly signal: AbortSignal;
  /** Why it must stop. After `lost`, its outcome no longer counts. */
  readonly stopped: StopReason | undefined;
}

type StopReason = 'lost' | 'drained';

/**
 * The claims of a worker. Beats for all of them, and stops those that the queue has given up. If it cannot beat in time,
 * it stops the attempts itself, before another worker makes them again.
 */
export class HeldClaims {
  readonly #queue: Queue;
  readonly #held = new Map<string, Held>();
  readonly #stopListening: () => void;
  #timer: NodeJS.Timeout | undefined;
  /** When the last beat was sent. A claim counts as one. */
  #sentMs = 0;
  #isBeating = false;

  constructor(queue: Queue) {
    this.#queue = queue;
    this.#stopListening = queue.onWithdrawn(runId => {
      if ([...this.#held.values()].some(({ claim }) => claim.request.runId === runId)) void this.#beat();
    });
  }

  get size(): number {
    return this.#held.size;
  }

  /** `sentMs` is when the successful claim was sent. */
  add(claim: AttemptClaim, sentMs: number): HeldClaim {
    if (this.#held.size === 0) this.#sentMs = sentMs;
    const held = new Held(claim, sentMs);
    this.#held.set(claim.id, held);
    this.#schedule();
    return held;
  }

  remove({ claim }: HeldClaim): void {
    this.#held.delete(claim.id);
    if (this.#held.size === 0) clearTimeout(this.#timer);
  }

  stopAll(reason: StopReason): void {
    for (const held of this.#held.values()) held.stop(reason);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#stopListening();
  }

  /** The next beat follows the last one, whatever was added since. Otherwise, new claims could put it off forever. */
  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#held.size === 0) return;
    const shortestMs = Math.min(...[...this.#held.values()].map(({ claim }) => claim.beatWithinMs));
    const everyMs = Math.max(BEAT_MS_MIN, shortestMs / BEATS);
    this.#timer = setTimeout(() => void this.#beat(), this.#sentMs + everyMs - monotonicMs());
  }

  async #beat(): Promise<void> {
    const sentMs = monotonicMs();
    this.#sentMs = sentMs;
    this.#schedule();
    this.#stopOverdue();
    if (this.#isBeating) return;
    const beaten = [...this.#held.values()].filter(({ stopped }) => stopped !== 'lost');
    if (beaten.length === 0) return;
    this.#isBeating = true;
    try {
      const lost = await this.#queue.beat(beaten.map(({ claim }) => claim));
      for (const { id } of lost) this.#held.get(id)?.stop('lost');
      for (const held of beaten) held.goodMs = sentMs;
    } catch (error) {
      // While the database is down, no conductor can give up an attempt. The queue then waits for another heartbeat.
      if (isDatabaseDown(error)) for (const held of beaten) held.goodMs = sentMs;
    } finally {
      this.#isBeating = false;
    }
  }

  #stopOverdue(): void {
    const nowMs = monotonicMs();
    for (const held of this.#held.values()) {
      if (nowMs - held.goodMs > held.claim.beatWithinMs * OVERDUE) held.stop('lost');
    }
  }
}

class Held implements HeldClaim {
  readonly claim: AttemptClaim;
  goodMs: number;
  stopped: StopReason | undefined;
  readonly #controller = new AbortController();

  constructor(claim: AttemptClaim, goodMs: number) {
    this.claim = claim;
    this.goodMs = goodMs;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  stop(reason: StopReason): void {
    if (this.stopped === 'lost') return;
    this.stopped = reason;
    this.#controller.abort();
  }
}

/** Beats per heartbeat, so that a lost one does not matter. */
const BEATS = 4;
const BEAT_MS_MIN = 25;

/** The attempt stops a little before the queue may give it up. */
const OVERDUE = 0.9;
