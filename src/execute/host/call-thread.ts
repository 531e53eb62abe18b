import { Worker } from 'node:worker_threads';
import { Fault } from '../../base/fault.ts';
import { builtProgram } from './package-files.ts';

/** Calls `answer` of a built module in a worker, one call at a time, so that this thread can handle signals. */
export class CallThread {
  readonly #module: string;
  #worker: Worker | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(module: string) {
    this.#module = module;
  }

  call(question: unknown, signal?: AbortSignal): Promise<unknown> {
    const answer = this.#last.then(() => this.#ask(question, signal));
    this.#last = answer.catch(() => undefined);
    return answer;
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
    let stop: (() => void) | undefined;
    try {
      return await new Promise((resolve, reject) => {
        const fail = (cause: unknown): void =>
          reject(new Fault('thread_failed', 'A worker thread ended unexpectedly.', { cause }));
        stop = () => {
          reject(cancelled());
          void this.close();
        };
        worker.once('message', resolve);
        worker.once('error', fail);
        worker.once('exit', fail);
        signal?.addEventListener('abort', stop);
        worker.postMessage(question);
      });
    } catch (error) {
      await this.close();
      throw error;
    } finally {
      if (stop) signal?.removeEventListener('abort', stop);
      worker.removeAllListeners();
      // An idle worker must not keep the process alive.
      worker.unref();
    }
  }

  /** Starts the worker on the first call, and again after it has failed. */
  #worked(): Worker {
    this.#worker ??= new Worker(builtProgram('call-answerer.js'), {
      workerData: { module: builtProgram(this.#module) },
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB_MAX },
    });
    return this.#worker;
  }
}

const MEMORY_MB_MAX = 1_024;

function cancelled(): Fault {
  return new Fault('cancelled', 'The evaluation was cancelled.');
}
