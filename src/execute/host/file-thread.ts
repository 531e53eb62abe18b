import { Worker } from 'node:worker_threads';
import { Fault } from '../../base/fault.ts';
import { builtProgram } from './package-files.ts';

export interface WaitingFile {
  readonly name: string;
  readonly text: string;
  readonly bytes: number;
}

/** Writes many small files in a worker thread, because creating a file takes longer than producing its text. */
export class FileThread {
  readonly #worker: Worker;
  #waiting = 0;
  #failure: Fault | undefined;
  #onSettled: (() => void) | undefined;

  constructor(folder: string) {
    this.#worker = new Worker(builtProgram('file-writer.js'), {
      workerData: { folder },
      resourceLimits: { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 32 },
    });
    // An idle worker must not keep the process alive.
    this.#worker.unref();
    this.#worker.on('message', ({ written, failure }: { written: number; failure?: string }) => {
      if (failure !== undefined) this.#fail(new Error(failure));
      this.#waiting -= written;
      if (this.#waiting === 0) this.#onSettled?.();
    });
    this.#worker.on('error', error => this.#lose(error));
    this.#worker.on('exit', () => this.#lose(new Error('the worker thread has ended')));
  }

  /** Queues files. Returns false if more than 8 MiB is queued; the caller then writes the files itself. */
  take(files: readonly WaitingFile[]): boolean {
    if (this.#failure) throw this.#failure;
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    if (this.#waiting + bytes > WAITING_BYTES_MAX) return false;
    this.#waiting += bytes;
    this.#worker.postMessage(files);
    return true;
  }

  /** Resolves when all files are written and the worker has ended. */
  async close(): Promise<void> {
    this.#worker.ref();
    if (this.#waiting > 0) await new Promise<void>(resolve => (this.#onSettled = resolve));
    this.#worker.removeAllListeners('exit');
    await this.#worker.terminate();
    if (this.#failure) throw this.#failure;
  }

  #lose(cause: Error): void {
    this.#fail(cause);
    this.#waiting = 0;
    this.#onSettled?.();
  }

  #fail(cause: Error): void {
    this.#failure ??= new Fault('write_failed', "A case's evidence could not be written.", { cause });
  }
}

const WAITING_BYTES_MAX = 8 * 1024 * 1024;
