import { Worker } from 'node:worker_threads';
import { Fault } from '../../base/fault.ts';
import { builtProgram } from './package-files.ts';

/** Calls the default export of a built module in a worker, one call at a time, so that this thread can handle signals. */
export class CallThread {
  readonly #module: string;
  #worker: Worker | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(module: string) {
    this.#module = module;
  }

  call(question: unknown, signal?: AbortSignal): Promise<unknown> {
    return new Promise((resolve, reject) => {
      // A call that still waits for its turn ends at once.
      const leave = (): void => reject(cancelled());
      signal?.addEventListener('abort', leave);
      const answer = this.#last.then(() => {
        signal?.removeEventListener('abort', leave);
        return this.#ask(question, signal);
      });
      this.#last = answer.catch(() => undefined);
      answer.then(resolve, reject);
    });
  }

  async close(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }

  async #ask(question: unknown, signal?: AbortSignal): Promise<unknown> {
    if (signal?.aborted) throw cancelled();
    const worker = this.#worked();
    worker.ref();
    let stopListening: (() => void) | undefined;
    try {
      return await new Promise((resolve, reject) => {
        const fail = (cause: unknown): void =>
          reject(new Fault('thread_failed', 'A worker thread ended unexpectedly.', { cause }));
        const stop = (): void => {
          reject(cancelled());
          void this.close();
        };
        worker.on('message', resolve).on('error', fail).on('exit', fail);
        signal?.addEventListener('abort', stop);
        // One by one: without the listeners of Node itself, the worker would never deliver a message again.
        stopListening = () => {
          worker.off('message', resolve).off('error', fail).off('exit', fail);
          signal?.removeEventListener('abort', stop);
        };
        worker.postMessage(question);
      });
    } catch (error) {
      await this.close();
      throw error;
    } finally {
      stopListening?.();
      // An idle worker must not keep the process alive.
      worker.unref();
    }
  }

  /** Starts the worker on the first call, and again after it has failed. */
  #worked(): Worker {
    if (this.#worker) return this.#worker;
    const worker = new Worker(builtProgram('call-answerer.js'), {
      workerData: { module: builtProgram(this.#module) },
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB_MAX },
    });
    // A worker that dies between two calls must neither end this process nor get the next call.
    worker.on('error', () => {});
    worker.once('exit', () => {
      if (this.#worker === worker) this.#worker = undefined;
    });
    this.#worker = worker;
    return worker;
  }
}

const MEMORY_MB_MAX = 1_024;

function cancelled(): Fault {
  return new Fault('cancelled', 'The evaluation was cancelled.');
}
