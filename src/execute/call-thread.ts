import { Worker } from 'node:worker_threads';
import { Fault } from '../base/fault.ts';
import { builtBeside } from './beside.ts';

/**
 * Answers questions in a thread of its own, one after the other, so that this thread hears signals meanwhile. The module is
 * one that the build makes; its function `answer` does the work.
 */
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

  /** Ends the thread, whatever it is doing. */
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
        const fail = (cause: unknown): void => reject(new Fault('thread_failed', 'A thread has ended.', { cause }));
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
      // It must not keep a process alive that has nothing else to do.
      worker.unref();
    }
  }

  /** Started when the first question comes, and again after one that it did not survive. */
  #worked(): Worker {
    this.#worker ??= new Worker(builtBeside('call-answerer.js'), {
      workerData: { module: builtBeside(this.#module) },
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB_MAX },
    });
    return this.#worker;
  }
}

const MEMORY_MB_MAX = 1_024;

function cancelled(): Fault {
  return new Fault('cancelled', 'The evaluation was cancelled.');
}
