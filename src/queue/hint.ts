import type { QueueWait } from './queue.ts';

/** Wakes everything that waits for news. A hint may be missed, so every wait also has a time limit. */
export class Hint {
  readonly #waiting = new Set<() => void>();
  #count = 0;

  /** How many hints there were. A hint that comes while its reader asks must not be missed. */
  get count(): number {
    return this.#count;
  }

  wake(): void {
    this.#count += 1;
    for (const wake of this.#waiting) wake();
  }

  /** Resolves at the next hint, after `waitMs`, or when the signal aborts. */
  async wait({ waitMs, signal }: QueueWait): Promise<void> {
    if (waitMs <= 0 || signal?.aborted === true) return;
    await new Promise<void>(resolve => {
      const done = () => {
        clearTimeout(timer);
        this.#waiting.delete(done);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, waitMs);
      this.#waiting.add(done);
      signal?.addEventListener('abort', done, { once: true });
    });
  }
}

/** Asks until there is an answer, once per hint and at least once per `pollMs`, for at most `waitMs`. */
export async function askUntil<Answer>(
  ask: () => Promise<Answer>,
  isEmpty: (answer: Answer) => boolean,
  hint: Hint,
  { waitMs, signal }: QueueWait,
  pollMs: number,
  nowMs: () => number,
): Promise<Answer> {
  const endMs = nowMs() + waitMs;
  for (;;) {
    const { count } = hint;
    const answer = await ask();
    const leftMs = endMs - nowMs();
    if (!isEmpty(answer) || leftMs <= 0) return answer;
    if (hint.count === count) await hint.wait({ waitMs: Math.min(leftMs, pollMs), ...(signal && { signal }) });
    if (signal?.aborted === true) return answer;
  }
}
