import { setTimeout as wait } from 'node:timers/promises';
import { monotonicMs } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';
import type { AttemptOutcome, AttemptRequest, Queue } from '../../queue/queue.ts';
import { shownNeeds } from '../../queue/scripts.ts';

/** The attempts of a run that are in the queue. Offers them in batches, and asks for all their outcomes at once. */
export class Offers {
  readonly #queue: Queue;
  readonly #runId: string;
  readonly #handedBackMs: number;
  readonly #onWarning: (sentence: string) => void;
  readonly #waiting = new Map<string, Waiting>();
  #unoffered: AttemptRequest[] = [];
  #isOffering = false;
  #isAsking = false;
  #isCancelled = false;
  readonly #closing = new AbortController();
  #newOffers = new AbortController();
  #supervising: NodeJS.Timeout | undefined;
  #offeringAgain: NodeJS.Timeout | undefined;
  #isSupervising = false;
  #lastOutcomeMs = monotonicMs();
  #warned = '';

  constructor(
    queue: Queue,
    runId: string,
    onWarning: (sentence: string) => void = () => undefined,
    handedBackMs = HANDED_BACK_MS,
  ) {
    this.#handedBackMs = handedBackMs;
    this.#queue = queue;
    this.#runId = runId;
    this.#onWarning = onWarning;
  }

  /** Offers an attempt and waits for its outcome. Undefined if the run is cancelled. */
  outcomeOf(request: AttemptRequest, signal: AbortSignal): Promise<AttemptOutcome | undefined> {
    if (this.#isCancelled || signal.aborted) return Promise.resolve(undefined);
    this.#supervising ??= setInterval(() => void this.#supervise(), SUPERVISE_MS);
    this.#offeringAgain ??= setInterval(() => this.#offerAgain(), OFFER_AGAIN_MS);
    return new Promise((resolve, reject) => {
      this.#waiting.set(request.key, { request, resolve, reject, isOffered: false, handedBack: 0 });
      this.#unoffered.push(request);
      if (!this.#isOffering) void this.#offer();
    });
  }

  /** The same, but also undefined if there is no outcome after `waitMs`. A worker may still make the attempt. */
  async outcomeWithin(
    request: AttemptRequest,
    signal: AbortSignal,
    waitMs: number,
  ): Promise<AttemptOutcome | undefined> {
    const timer = setTimeout(() => {
      const waiting = this.#waiting.get(request.key);
      this.#waiting.delete(request.key);
      waiting?.resolve(undefined);
    }, waitMs);
    try {
      return await this.outcomeOf(request, signal);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Whether the queue gave up one of these attempts. */
  async wasLost(keys: readonly string[], signal: AbortSignal): Promise<boolean> {
    const known = await this.#untilThere(() => this.#queue.outcomes(keys, { waitMs: 0, signal }));
    return [...(known?.values() ?? [])].some(({ is }) => is === 'lost');
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#dropAll();
  }

  /** Waits for an attempt no longer: its `outcomeOf` is undefined. Resolves when nothing can offer it any more. */
  async drop(key: string): Promise<void> {
    const waiting = this.#waiting.get(key);
    this.#waiting.delete(key);
    this.#unoffered = this.#unoffered.filter(request => request.key !== key);
    // A batch on its way may contain it.
    while (this.#isOffering) await wait(OFFERING_MS);
    waiting?.resolve(undefined);
  }

  /** Waits for nothing any more, and leaves the attempts to the workers. */
  leave(): void {
    this.#stopTimers();
    this.#closing.abort();
    this.#dropAll();
  }

  #dropAll(): void {
    for (const { resolve } of this.#waiting.values()) resolve(undefined);
    this.#waiting.clear();
    this.#unoffered = [];
    this.#newOffers.abort();
  }

  /** Withdraws a cancelled run, so that its workers stop. */
  async close(): Promise<void> {
    this.#stopTimers();
    const endMs = monotonicMs() + WITHDRAW_MS;
    while (this.#isCancelled) {
      const fault = await this.#queue.withdraw(this.#runId).then(
        () => undefined,
        (error: unknown) => error,
      );
      if (fault === undefined) break;
      if (monotonicMs() > endMs) {
        this.#onWarning('The queue cannot be reached, so the workers do not know that the run was cancelled.');
        break;
      }
      await wait(RETRY_MS);
    }
    this.#closing.abort();
    this.#newOffers.abort();
  }

  #stopTimers(): void {
    clearInterval(this.#supervising);
    clearInterval(this.#offeringAgain);
  }

  /** The queue removes what waits for weeks. For everything else, a second offer has no effect. */
  #offerAgain(): void {
    for (const { request, isOffered } of this.#waiting.values()) if (isOffered) this.#unoffered.push(request);
    if (!this.#isOffering) void this.#offer();
  }

  /** Attempts that arrive while a batch is on its way form the next batch. */
  async #offer(): Promise<void> {
    this.#isOffering = true;
    try {
      await new Promise(resolve => setImmediate(resolve));
      while (this.#unoffered.length > 0) {
        const batch = this.#unoffered.splice(0, OFFERS_MAX).filter(({ key }) => this.#waiting.has(key));
        await this.#untilThere(() => this.#queue.offer(batch));
        for (const { key } of batch) {
          const waiting = this.#waiting.get(key);
          if (waiting) waiting.isOffered = true;
        }
        this.#newOffers.abort();
        if (!this.#isAsking) void this.#ask();
      }
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#isOffering = false;
    }
  }

  async #ask(): Promise<void> {
    this.#isAsking = true;
    try {
      for (;;) {
        this.#newOffers = new AbortController();
        const { signal } = this.#newOffers;
        const keys = [...this.#waiting].flatMap(([key, { isOffered }]) => (isOffered ? [key] : []));
        if (keys.length === 0) return;
        const known = await this.#untilThere(() => this.#queue.outcomes(keys, { waitMs: OUTCOMES_MS, signal }));
        if (known?.size) this.#lastOutcomeMs = monotonicMs();
        for (const [key, outcome] of known ?? []) this.#take(key, outcome);
      }
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#isAsking = false;
    }
  }

  #take(key: string, outcome: AttemptOutcome): void {
    const waiting = this.#waiting.get(key);
    if (!waiting) return;
    if (outcome.is !== 'handed_back' || ++waiting.handedBack > HANDED_BACK_MAX) {
      this.#waiting.delete(key);
      waiting.resolve(outcome);
      return;
    }
    this.#warn(`Worker ${printable(outcome.worker)} handed an attempt back: ${printable(outcome.why)}`);
    waiting.isOffered = false;
    // Not at once, because the same worker could take it again.
    setTimeout(() => {
      if (!this.#waiting.has(key)) return;
      this.#unoffered.push(waiting.request);
      if (!this.#isOffering) void this.#offer();
    }, this.#handedBackMs);
  }

  /** Repeats a call while the queue is unavailable. Undefined if the run is cancelled or closed. */
  async #untilThere<Answer>(call: () => Promise<Answer>): Promise<Answer | undefined> {
    while (!this.#isCancelled && !this.#closing.signal.aborted) {
      try {
        return await call();
      } catch (error) {
        if (!(error instanceof Fault && error.code === 'queue_unavailable')) throw error;
        this.#warn('The queue cannot be reached. Proctor keeps trying; press Ctrl-C to stop.');
        await wait(RETRY_MS);
      }
    }
    return undefined;
  }

  #fail(error: unknown): void {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(error);
  }

  async #supervise(): Promise<void> {
    if (this.#isSupervising) return;
    this.#isSupervising = true;
    try {
      await this.#queue.supervise();
      if (this.#waiting.size > 0 && monotonicMs() - this.#lastOutcomeMs > QUIET_MS) await this.#checkWorkers();
    } catch {
      // The next round tries again.
    } finally {
      this.#isSupervising = false;
    }
  }

  /** Warns if no worker can make the attempts, because the run would wait forever. */
  async #checkWorkers(): Promise<void> {
    this.#lastOutcomeMs = monotonicMs();
    const [{ request } = {}] = this.#waiting.values();
    const { needs } = await this.#queue.overview();
    const row = request && needs.find(one => one.needs === shownNeeds(request));
    if (!request || (row && row.workers > 0)) return;
    this.#warn(
      `No worker can make these attempts. Start one of this release${sameAgent(request)} with: proctor worker --queue URL${flagsFor(request)}`,
    );
  }

  /** Skips a warning that repeats the one before. */
  #warn(sentence: string): void {
    if (sentence !== this.#warned) this.#onWarning(sentence);
    this.#warned = sentence;
  }
}

/** The version that a worker must have, for an agent. */
function sameAgent({ needs }: AttemptRequest): string {
  const [kind, name, version] = needs.split('/');
  return kind === 'agent' ? `, on a machine with ${name} ${version},` : '';
}

/** The flags of a worker that offers what an attempt needs. */
function flagsFor({ needs, script }: AttemptRequest): string {
  const [what = '', ...names] = needs.split('+');
  const secrets = names.map(name => ` --secret ${name}`).join('');
  const digest = script?.sha256.replace('sha256:', '') ?? 'SHA256';
  const [kind, name] = what.split('/');
  if (kind === 'script') return ` --store ADDRESS --allow-script ${digest}${secrets}`;
  return `${kind === 'agent' ? ` --store ADDRESS --allow-agent ${name}` : ''}${secrets}`;
}

interface Waiting {
  readonly request: AttemptRequest;
  isOffered: boolean;
  handedBack: number;
  readonly resolve: (outcome: AttemptOutcome | undefined) => void;
  readonly reject: (error: unknown) => void;
}

const OFFERS_MAX = 500;
const OFFERING_MS = 20;
const OUTCOMES_MS = 5_000;
const SUPERVISE_MS = 1_000;
const OFFER_AGAIN_MS = 86_400_000;
const RETRY_MS = 250;
const WITHDRAW_MS = 10_000;
const HANDED_BACK_MS = 1_000;
/** An attempt that no worker can make must end. */
const HANDED_BACK_MAX = 10;
/** After this long without an outcome, Proctor checks whether there is a worker. */
const QUIET_MS = 10_000;
