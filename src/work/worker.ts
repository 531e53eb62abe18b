import { setTimeout as wait } from 'node:timers/promises';
import { monotonicMs } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { Hint } from '../queue/hint.ts';
import type { AttemptClaim, Queue, WorkerOffer } from '../queue/queue.ts';
import { WORKER_PROTOCOLS } from '../run/suite/attempt-question.ts';
import type { Reporter } from '../run/suite/attempt-report.ts';
import { AttemptMaker, type MadeEnd, type MakePublished } from './attempt-maker.ts';
import { HeldClaims } from './held-claims.ts';
import { Settling } from './settling.ts';
import type { OutcomeSpool } from './spool.ts';
import { type MakeTarget, WorkerTargets } from './worker-targets.ts';

export interface WorkerContext {
  readonly queue: Queue;
  /** What the worker can do, as requests name it. */
  readonly needs: readonly string[];
  /** The scripts that it runs. */
  readonly scripts?: WorkerOffer['scripts'];
  readonly slots: number;
  readonly reporter: Reporter;
  readonly makeTarget: MakeTarget;
  readonly makePublished?: MakePublished | undefined;
  readonly spool: OutcomeSpool;
  /** How long attempts may take after the signal. */
  readonly drainMs: number;
  /** How long the queue may wait for an attempt; 2 seconds by default. */
  readonly claimMs?: number;
  /** Stops claiming. The attempts under way may finish. */
  readonly signal: AbortSignal;
  readonly onEvent?: (event: WorkerEvent) => void;
}

export type WorkerEvent =
  | { readonly is: 'claimed'; readonly key: string }
  | { readonly is: 'settled'; readonly key: string; readonly end: MadeEnd['is'] }
  /** The queue gave the attempt up, or withdrew it. `isSpooled` if there was an outcome. */
  | { readonly is: 'lost'; readonly key: string; readonly isSpooled: boolean }
  | { readonly is: 'unable'; readonly needs: string; readonly why: string }
  /** Once per outage; then `reachable` when the queue answers again. */
  | { readonly is: 'unreachable'; readonly why: string }
  | { readonly is: 'reachable' }
  | { readonly is: 'draining'; readonly attempts: number };

/** Makes attempts until the signal, then waits for those under way. Rejects if it can no longer make any. */
export async function runWorker(context: WorkerContext): Promise<void> {
  const worker = new Worker(context);
  try {
    await worker.claimUntilStopped();
  } finally {
    await worker.drain();
    await worker.close();
  }
}

class Worker {
  readonly #context: WorkerContext;
  readonly #tell: (event: WorkerEvent) => void;
  readonly #needs: Set<string>;
  readonly #held: HeldClaims;
  readonly #settling: Settling;
  readonly #targets: WorkerTargets;
  readonly #maker: AttemptMaker;
  /** Attempts that are not settled may be as many again. */
  #active = 0;
  readonly #change = new Hint();
  #unable = '';
  /** Why the queue cannot be reached. */
  #away: string | undefined;

  constructor(context: WorkerContext) {
    const { queue, reporter, makeTarget, makePublished, slots, onEvent = () => undefined } = context;
    this.#context = context;
    this.#tell = onEvent;
    this.#needs = new Set(context.needs);
    this.#held = new HeldClaims(queue);
    this.#targets = new WorkerTargets(makeTarget, slots);
    this.#maker = new AttemptMaker(reporter, this.#targets, makePublished, context.signal);
    this.#settling = new Settling(queue);
  }

  async claimUntilStopped(): Promise<void> {
    const { queue, signal } = this.#context;
    while (!signal.aborted) {
      if (this.#needs.size === 0)
        throw new Fault('worker_unable', `The worker can no longer make attempts: ${this.#unable}`);
      const free = await this.#freeSlots();
      if (free <= 0) {
        await this.#change.wait({ waitMs: CHANGE_MS, signal });
        continue;
      }
      const sentMs = monotonicMs();
      try {
        const claims = await queue.claim(this.#offer(), free, { waitMs: this.#context.claimMs ?? CLAIM_MS, signal });
        await this.#begin(claims, sentMs);
        this.#noteContact(undefined);
      } catch (error) {
        if (!(error instanceof Fault) || error.code === 'worker_refused') throw error;
        this.#noteContact(error.message);
        await wait(RETRY_MS, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  /** How many attempts to claim. A claim costs as much for one as for many, so a few free slots wait a moment for more. */
  async #freeSlots(): Promise<number> {
    const { slots, signal } = this.#context;
    const free = (): number => Math.min(slots - this.#active, 2 * slots - this.#held.size);
    const endMs = monotonicMs() + GATHER_MS;
    for (;;) {
      const leftMs = endMs - monotonicMs();
      if (free() <= 0 || free() >= slots || leftMs <= 0) return free();
      await this.#change.wait({ waitMs: leftMs, signal });
    }
  }

  /** Tells of an outage once, not for each try. */
  #noteContact(away: string | undefined): void {
    if (away === this.#away) return;
    this.#away = away;
    this.#tell(away === undefined ? { is: 'reachable' } : { is: 'unreachable', why: away });
  }

  /** The time to beat counts from the call. After a long one, a beat tells which claims are still ours. */
  async #begin(claims: readonly AttemptClaim[], sentMs: number): Promise<void> {
    if (claims.length === 0) return;
    const nowMs = monotonicMs();
    if (nowMs - sentMs <= CLAIM_MS) {
      for (const claim of claims) void this.#attempt(claim, sentMs);
      return;
    }
    const { lost, beatMs } = await this.#beatNow(claims, nowMs + Math.min(...claims.map(one => one.beatWithinMs)));
    for (const claim of claims) if (!lost.has(claim)) void this.#attempt(claim, beatMs);
  }

  /** Beats for new claims. Repeats it while they may still be ours, because no other worker can make them yet. */
  async #beatNow(
    claims: readonly AttemptClaim[],
    endMs: number,
  ): Promise<{ readonly lost: ReadonlySet<AttemptClaim>; readonly beatMs: number }> {
    for (;;) {
      const beatMs = monotonicMs();
      try {
        return { lost: new Set(await this.#context.queue.beat(claims)), beatMs };
      } catch (error) {
        if (!(error instanceof Fault) || error.code === 'worker_refused' || monotonicMs() > endMs) {
          this.#context.queue.forget(claims);
          throw error;
        }
        this.#tell({ is: 'unreachable', why: error.message });
        await wait(RETRY_MS);
      }
    }
  }

  /** Waits until everything is settled, but stops attempts that take longer than the drain allows. */
  async drain(): Promise<void> {
    if (this.#held.size > 0) this.#tell({ is: 'draining', attempts: this.#held.size });
    if (await this.#isEmptyWithin(this.#context.drainMs)) return;
    this.#held.stopAll('drained');
    await this.#isEmptyWithin(SETTLE_MS);
  }

  async close(): Promise<void> {
    this.#held.close();
    await this.#targets.close();
  }

  #offer(): WorkerOffer {
    const { reporter, slots, scripts } = this.#context;
    const { name: worker, version, signer } = reporter;
    return {
      worker,
      needs: [...this.#needs],
      slots,
      version,
      protocols: WORKER_PROTOCOLS,
      keyId: signer.keyId,
      ...(scripts && { scripts }),
    };
  }

  async #attempt(claim: AttemptClaim, sentMs: number): Promise<void> {
    const { key, needs } = claim.request;
    this.#tell({ is: 'claimed', key });
    const held = this.#held.add(claim, sentMs);
    this.#active++;
    const { end, unable, discard } = await this.#maker.make(held);
    this.#active--;
    this.#change.wake();
    if (unable !== undefined) this.#giveUp(needs, unable);
    const isTaken = end !== undefined && (await this.#settling.settle(held, end));
    discard?.();
    this.#held.remove(held);
    this.#change.wake();
    if (isTaken) this.#tell({ is: 'settled', key, end: end.is });
    else
      this.#tell({ is: 'lost', key, isSpooled: end?.is === 'reported' && this.#context.spool.keep(key, end.report) });
  }

  #giveUp(needs: string, why: string): void {
    if (!this.#needs.delete(needs)) return;
    this.#unable = why;
    this.#tell({ is: 'unable', needs, why });
  }

  async #isEmptyWithin(ms: number): Promise<boolean> {
    const endMs = monotonicMs() + ms;
    for (;;) {
      const leftMs = endMs - monotonicMs();
      if (this.#held.size === 0 || leftMs <= 0) return this.#held.size === 0;
      await this.#change.wait({ waitMs: Math.min(leftMs, CHANGE_MS) });
    }
  }
}

/** Shorter than any heartbeat, because the time to beat counts from the call. */
const CLAIM_MS = 2_000;
const CHANGE_MS = 1_000;
const GATHER_MS = 10;
const RETRY_MS = 500;
const SETTLE_MS = 10_000;
