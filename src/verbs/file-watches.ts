import { type FSWatcher, watch } from 'node:fs';

/** Watches files and folders for changes. If the machine has no watches left, the caller has to poll. */
export class FileWatches {
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** Watches a place once. Call it again for a place that did not exist. */
  add(place: string): void {
    if (this.#watchers.has(place)) return;
    try {
      const watcher = watch(place, { persistent: false }, () => this.#onChange());
      watcher.on('error', () => this.remove(place));
      this.#watchers.set(place, watcher);
    } catch {
      // It does not exist yet, or cannot be watched.
    }
  }

  remove(place: string): void {
    this.#watchers.get(place)?.close();
    this.#watchers.delete(place);
  }

  close(): void {
    for (const place of this.#watchers.keys()) this.remove(place);
  }
}
