import { closeSync, openSync, writeSync } from 'node:fs';
import type { DoorStats } from './door.ts';

/** A small file that always holds the last count. It survives the death of this process, and never grows. */
export class DoorCounter {
  #fd: number | undefined;

  constructor(file: string) {
    try {
      this.#fd = openSync(file, 'wx', 0o600);
    } catch {
      // Without a count, a recovery says that it is unknown.
    }
  }

  /** Each count is at least as long as the one before, so that it covers it. */
  write({ requests, failures }: DoorStats, difference: string | undefined): void {
    if (this.#fd === undefined) return;
    try {
      writeSync(this.#fd, JSON.stringify({ requests, failures, difference: difference ?? null }), 0);
    } catch {
      this.close();
    }
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }
}
