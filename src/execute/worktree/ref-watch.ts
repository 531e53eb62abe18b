import { type FSWatcher, readdirSync, watch } from 'node:fs';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { isFolder } from './tree.ts';

/**
 * Watches the refs of an agent's git folder while the agent runs, from outside the sandbox. It sees writes that the
 * agent later reverts. It can miss refs in a folder that was just created, and events that overflow the kernel's queue,
 * so an empty result proves nothing.
 */
export class RefWatch {
  readonly #gitDir: string;
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #written = new Set<string>();

  constructor(gitDir: string) {
    this.#gitDir = gitDir;
    this.#follow('refs');
  }

  /** Full names of refs that were written or removed, up to 1,000. */
  written(): ReadonlySet<string> {
    return this.#written;
  }

  /** Reads all pending events, then stops. All of the agent's processes must have ended. */
  async close(): Promise<void> {
    for (let turns = 0; turns < TURNS; turns++) await setImmediate();
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  #follow(folder: string): void {
    const place = path.join(this.#gitDir, folder);
    if (this.#watchers.has(folder) || this.#watchers.size >= FOLDERS_MAX || !isFolder(place)) return;
    try {
      const watcher = watch(place, { persistent: false }, (_, name) => this.#see(folder, name));
      watcher.on('error', () => undefined);
      this.#watchers.set(folder, watcher);
      for (const name of readdirSync(place).slice(0, FOLDERS_MAX)) this.#follow(`${folder}/${name}`);
    } catch {
      // The folder is gone, or the user has no watches left.
    }
  }

  #see(folder: string, name: string | null): void {
    // Git also locks a ref that it does not change.
    if (name === null || name.endsWith('.lock')) return;
    const ref = `${folder}/${name}`;
    if (isFolder(path.join(this.#gitDir, ref))) this.#follow(ref);
    else if (this.#written.size < REFS_MAX) this.#written.add(ref);
  }
}

/** Node reads events between two turns of the event loop. Wait one more turn, in case `close` was called during one. */
const TURNS = 3;
const FOLDERS_MAX = 200;
const REFS_MAX = 1_000;
