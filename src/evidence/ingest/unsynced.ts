import { closeSync, fsync } from 'node:fs';

/**
 * Descriptors whose bytes are written but not yet on the disk. Waiting for many at once lets the disk answer them with
 * one commit; waiting for each would make a thousand small files slower than a thousand commits.
 */
export class Unsynced {
  #open: number[] = [];
  #syncing: Promise<unknown> = Promise.resolve();

  /** Takes over a descriptor that nobody will write to any more. */
  async add(fd: number): Promise<void> {
    this.#open.push(fd);
    if (this.#open.length >= BATCH) await this.#sync();
  }

  /** Returns when everything is on the disk. */
  async settle(): Promise<void> {
    await this.#sync();
    await this.#sync();
  }

  /** Lets go of everything, on the disk or not. */
  async close(): Promise<void> {
    await this.#syncing;
    for (const fd of this.#open) closeSync(fd);
    this.#open = [];
  }

  /** One batch is on its way to the disk while the next one is written. */
  async #sync(): Promise<void> {
    const error = await this.#syncing;
    this.#syncing = Promise.resolve();
    if (error instanceof Error) throw error;
    const batch = this.#open;
    this.#open = [];
    this.#syncing = syncAll(batch);
  }
}

/** Never rejects, so that nobody needs to wait for it at once; the first error is the answer. */
async function syncAll(fds: readonly number[]): Promise<Error | undefined> {
  const errors = await Promise.all(fds.map(syncAndClose));
  return errors.find(error => error !== undefined);
}

function syncAndClose(fd: number): Promise<Error | undefined> {
  return new Promise(resolve => {
    fsync(fd, error => {
      closeSync(fd);
      resolve(error ?? undefined);
    });
  });
}

/** Few enough that a process may hold all of two batches open beside its other files. */
const BATCH = 64;
