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
  #underWay = 0;

  constructor(queue: Queue) {
    this.#queue = queue;
    this.#stopListening = queue.onWithdrawn(runId => {
      // Many runs can end at the same time, and the next beat follows soon.
      if (this.#underWay > 0) return;
      if ([...this.#held.values()].some(({ claim }) => claim.request.runId === runId)) void this.#beat();
    });
  }

  get size(): number {
    return this.#held.size;
  }

  /** `sentMs` is when the successful claim was sent. */
  add(claim: AttemptClaim, sentMs: number): HeldClaim {
    if (this.#held.size === 0) this.#sentMs = sentMs;
    const held = new Held(claim, sentMs, () => this.#queue.forget([claim]));
    this.#held.set(claim.id, held);
    this.#schedule();
    return held;
  }

  remove({ claim }: HeldClaim): void {
    this.#held.get(claim.id)?.endWatch();
    this.#held.delete(claim.id);
    if (this.#held.size === 0) clearTimeout(this.#timer);
  }

  stopAll(reason: StopReason): void {
    for (const held of this.#held.values()) held.stop(reason);
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const held of this.#held.values()) held.endWatch();
    this.#stopListening();
  }

  /** Counts from the last beat. Otherwise, new claims could delay the next one forever. */
  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#held.size === 0) return;
    const shortestMs = Math.min(...[...this.#held.values()].map(({ beatWithinMs }) => beatWithinMs));
    const everyMs = Math.max(BEAT_MS_MIN, shortestMs / BEATS);
    this.#timer = setTimeout(() => void this.#beat(), this.#sentMs + everyMs - monotonicMs());
  }

  /** The next beat does not wait for the answer, because a request may hang. A late answer still counts. */
  async #beat(): Promise<void> {
    const sentMs = monotonicMs();
    this.#sentMs = sentMs;
    this.#schedule();
    const beaten = [...this.#held.values()].filter(({ stopped }) => stopped !== 'lost');
    if (beaten.length === 0) return;
    this.#underWay++;
    try {
      const lost = await this.#queue.beat(beaten.map(({ claim }) => claim));
      for (const { id } of lost) this.#held.get(id)?.stop('lost');
      for (const held of beaten) held.noteBeat(sentMs);
    } catch (error) {
      // While the database is down, no conductor can give up an attempt. The queue then waits for another heartbeat.
      if (isDatabaseDown(error)) for (const held of beaten) held.noteBeat(sentMs);
    } finally {
      this.#underWay--;
    }
  }
}

class Held implements HeldClaim {
  readonly claim: AttemptClaim;
  readonly beatWithinMs: number;
  stopped: StopReason | undefined;
  /** When the last beat was sent that the queue took. */
  #goodMs: number;
  #deadline: NodeJS.Timeout | undefined;
  readonly #onLost: () => void;
  readonly #controller = new AbortController();

  constructor(claim: AttemptClaim, goodMs: number, onLost: () => void) {
    this.claim = claim;
    this.beatWithinMs = Math.min(claim.beatWithinMs, BEAT_WITHIN_MS_MAX);
    this.#goodMs = goodMs;
    this.#onLost = onLost;
    this.#watch();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  noteBeat(sentMs: number): void {
    this.#goodMs = Math.max(this.#goodMs, sentMs);
  }

  stop(reason: StopReason): void {
    if (this.stopped === 'lost') return;
    this.stopped = reason;
    this.#controller.abort();
    if (reason !== 'lost') return;
    this.endWatch();
    this.#onLost();
  }

  endWatch(): void {
    clearTimeout(this.#deadline);
  }

  /** Stops the attempt at its deadline, which every good beat has put off meanwhile. */
  #watch(): void {
    const leftMs = this.#goodMs + this.beatWithinMs * OVERDUE - monotonicMs();
    if (leftMs <= 0) this.stop('lost');
    else this.#deadline = setTimeout(() => this.#watch(), leftMs);
  }
}

/** Beats per heartbeat, so that a lost one does not matter. */
const BEATS = 4;
const BEAT_MS_MIN = 25;
/** Claims come from outside, and a timer cannot wait for more than 24 days. */
const BEAT_WITHIN_MS_MAX = 3_600_000;

/** The attempt stops a little before the queue may give it up. */
const OVERDUE = 0.9;
