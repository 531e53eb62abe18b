import { closeSync, fsync } from 'node:fs';

/**
 * Descriptors with bytes that are not yet on disk. Syncing many at once lets the disk commit them together, which
 * makes a thousand small files much faster than a thousand commits.
 */
export class Unsynced {
  #open: number[] = [];
  #syncing: Promise<unknown> = Promise.resolve();

  /** Takes ownership of a descriptor whose bytes are all written. */
  async add(fd: number): Promise<void> {
    this.#open.push(fd);
    if (this.#open.length >= BATCH) await this.#sync();
  }

  /** Resolves when everything is on disk. */
  async settle(): Promise<void> {
    await this.#sync();
    await this.#sync();
  }

  /** Closes all descriptors, synced or not. */
  async close(): Promise<void> {
    await this.#syncing;
    for (const fd of this.#open) closeSync(fd);
    this.#open = [];
  }

  /** One batch syncs while the next one is written. */
  async #sync(): Promise<void> {
    const error = await this.#syncing;
    this.#syncing = Promise.resolve();
    if (error instanceof Error) throw error;
    const batch = this.#open;
    this.#open = [];
    this.#syncing = syncAll(batch);
  }
}

/** Never rejects, so it can run unawaited. Resolves with the first error. */
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

/** Small enough that a process can hold two batches open in addition to its other files. */
const BATCH = 64;
