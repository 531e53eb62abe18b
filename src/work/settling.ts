import { setTimeout as wait } from 'node:timers/promises';
import type { Queue } from '../queue/queue.ts';
import type { MadeEnd } from './attempt-maker.ts';
import type { HeldClaim } from './held-claims.ts';

/** Reports outcomes in batches. Tries again for as long as the worker holds the claim. */
export class Settling {
  readonly #queue: Queue;
  #waiting: Unsettled[] = [];
  #isSending = false;

  constructor(queue: Queue) {
    this.#queue = queue;
  }

  /** Whether the queue took the outcome. */
  settle(held: HeldClaim, end: MadeEnd): Promise<boolean> {
    return new Promise(resolve => {
      this.#waiting.push({ held, end, resolve });
      if (!this.#isSending) void this.#send();
    });
  }

  async #send(): Promise<void> {
    this.#isSending = true;
    while (this.#waiting.length > 0) {
      // A settlement costs as much for one outcome as for many.
      await wait(GATHER_MS);
      const batch = this.#waiting.splice(0, BATCH_MAX);
      const ours = batch.filter(one => one.held.stopped !== 'lost');
      for (const { held, resolve } of batch) if (held.stopped === 'lost') resolve(false);
      if (ours.length === 0) continue;
      try {
        const taken = new Set(await this.#queue.settle(ours.map(({ held, end }) => ({ claim: held.claim, end }))));
        for (const { held, resolve } of ours) resolve(taken.has(held.claim.request.key));
      } catch {
        this.#waiting.unshift(...ours);
        await wait(RETRY_MS);
      }
    }
    this.#isSending = false;
  }
}

interface Unsettled {
  readonly held: HeldClaim;
  readonly end: MadeEnd;
  readonly resolve: (isTaken: boolean) => void;
}

const BATCH_MAX = 200;
const GATHER_MS = 10;
const RETRY_MS = 250;
