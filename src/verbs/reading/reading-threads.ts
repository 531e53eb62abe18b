import { Fault } from '../../base/fault.ts';
import { bytesHash } from '../../base/hash.ts';
import { namedStateFolder } from '../../base/state-folder.ts';
import { CallThread } from '../../execute/host/call-thread.ts';
import type { ReadingAnswer, Readings } from './reading-thread.ts';

/**
 * Threads that verify and read large folders, so that this thread can answer others meanwhile. They start on first use.
 * A thread that runs out of memory is replaced.
 */
export class ReadingThreads {
  readonly #threads = Array.from({ length: THREADS }, newThread);
  /** Comparing, packing, and verifying an upload may take minutes. Each has a thread, so it delays only its own kind. */
  readonly #apart: Partial<Record<keyof Readings, ReadingThread>> = {
    compare: newThread(),
    pack: newThread(),
    upload: newThread(),
  };

  /** `near`: the same text gets the same thread, which keeps what it read last. */
  async read<Name extends keyof Readings>(
    name: Name,
    input: Parameters<Readings[Name]>[0],
    { signal, near }: { readonly signal?: AbortSignal; readonly near?: string } = {},
  ): Promise<Awaited<ReturnType<Readings[Name]>>> {
    const chosen = this.#apart[name] ?? this.#threadFor(near);
    if (chosen.calls >= CALLS_MAX)
      throw new Fault('busy', 'The server reads too many runs at once. Try again in a minute.');
    chosen.calls++;
    const limit = AbortSignal.timeout(READ_MS_MAX);
    try {
      const question = { read: name, input, stateFolder: namedStateFolder() };
      const either = signal ? AbortSignal.any([signal, limit]) : limit;
      const answer = (await chosen.thread.call(question, either)) as ReadingAnswer;
      if (!answer.ok) throw new Fault(answer.code, answer.message);
      return answer.value as Awaited<ReturnType<Readings[Name]>>;
    } catch (error) {
      if (!limit.aborted) throw error;
      throw new Fault('too_slow', 'Reading took longer than ten minutes, so the server stopped it.', { cause: error });
    } finally {
      chosen.calls--;
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#threads, ...Object.values(this.#apart)].map(({ thread }) => thread.close()));
  }

  #threadFor(near: string | undefined): ReadingThread {
    const idlest = this.#threads.reduce((a, b) => (b.calls < a.calls ? b : a));
    if (near === undefined) return idlest;
    const number = Number.parseInt(bytesHash(near).slice(-8), 16) % THREADS;
    return this.#threads[number] ?? idlest;
  }
}

type ReadingThread = ReturnType<typeof newThread>;

const newThread = () => ({ thread: new CallThread('reading-thread.js'), calls: 0 });

const THREADS = 2;
/** Calls that one thread has or that wait for it. */
const CALLS_MAX = 50;
const READ_MS_MAX = 600_000;
