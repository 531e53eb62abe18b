import { type FSWatcher, lstatSync, readdirSync, watch } from 'node:fs';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';

/**
 * Watches the refs of an agent's git dir while the agent runs, from outside of its sandbox. What it sees was written, even
 * if it was put back before the end. It can miss a ref in a folder that was made a moment before, and what a flood of
 * other changes pushes out of the kernel's queue; so that nothing was seen proves nothing.
 */
export class RefWatch {
  readonly #gitDir: string;
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #written = new Set<string>();

  constructor(gitDir: string) {
    this.#gitDir = gitDir;
    this.#follow('refs');
  }

  /** Full names of refs that were written or removed until now, up to a limit. */
  written(): ReadonlySet<string> {
    return this.#written;
  }

  /** When everything of the agent is dead: all that the kernel has noted is read before nothing more is watched. */
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
      // The folder is gone again, or the user has no watches left.
    }
  }

  #see(folder: string, name: string | null): void {
    // Git takes a lock for a ref that it then leaves as it is, too.
    if (name === null || name.endsWith('.lock')) return;
    const ref = `${folder}/${name}`;
    if (isFolder(path.join(this.#gitDir, ref))) this.#follow(ref);
    else if (this.#written.size < REFS_MAX) this.#written.add(ref);
  }
}

/** What is noted is read between two turns of the event loop; one more, for whoever comes in the middle of one. */
const TURNS = 3;
const FOLDERS_MAX = 200;
const REFS_MAX = 1_000;

function isFolder(place: string): boolean {
  return lstatSync(place, { throwIfNoEntry: false })?.isDirectory() === true;
}
