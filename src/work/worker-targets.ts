import { monotonicMs } from '../base/clock.ts';
import type { AttemptQuestion } from '../contracts/attempt-request/index.ts';
import type { Target } from '../run/suite/target.ts';

/** Opens the target of a request, for at most `slots` attempts at once. Rejects if this worker must not or cannot ask it. */
export type MakeTarget = (question: AttemptQuestion, slots: number) => Promise<Target>;

/** The open targets of a worker. Attempts of one run share a target and its connections. */
export class WorkerTargets {
  readonly #make: MakeTarget;
  readonly #slots: number;
  readonly #open = new Map<string, OpenTarget>();

  constructor(make: MakeTarget, slots: number) {
    this.#make = make;
    this.#slots = slots;
  }

  /** Rejects only if the target cannot be opened, or if `use` rejects. */
  async with<Result>(question: AttemptQuestion, use: (target: Target) => Promise<Result>): Promise<Result> {
    const { key: _, attempt: __, case: ___, again: ____, ...shared } = question;
    const name = JSON.stringify(shared);
    let entry = this.#open.get(name);
    if (!entry) {
      void this.#closeIdle();
      entry = { target: this.#make(question, this.#slots), users: 0, usedMs: 0 };
      this.#open.set(name, entry);
    }
    entry.users++;
    try {
      return await use(await entry.target);
    } catch (error) {
      if (await isUnusable(entry.target)) this.#open.delete(name);
      throw error;
    } finally {
      entry.users--;
      entry.usedMs = monotonicMs();
    }
  }

  async close(): Promise<void> {
    const open = [...this.#open.values()];
    this.#open.clear();
    await Promise.allSettled(open.map(async ({ target }) => (await target).close()));
  }

  async #closeIdle(): Promise<void> {
    const nowMs = monotonicMs();
    for (const [name, { target, users, usedMs }] of this.#open) {
      if (users > 0 || nowMs - usedMs < IDLE_MS) continue;
      this.#open.delete(name);
      await target.then(opened => opened.close()).catch(() => undefined);
    }
  }
}

interface OpenTarget {
  readonly target: Promise<Target>;
  users: number;
  usedMs: number;
}

const IDLE_MS = 30_000;

async function isUnusable(target: Promise<Target>): Promise<boolean> {
  return target.then(
    () => false,
    () => true,
  );
}
