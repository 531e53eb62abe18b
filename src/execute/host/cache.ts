import path from 'node:path';
import { writeAtomic } from '../../base/atomic.ts';
import { isMineAlone } from '../../base/owner.ts';
import { makeFolders } from '../../base/private.ts';
import { readRegular } from '../../base/regular.ts';

/** A small on-disk cache. Ignores write errors, and files that another user could have written. */
export class Memory {
  readonly #file: string | undefined;

  /** Without a folder, nothing is cached. */
  constructor(folder: string | undefined, name: string) {
    this.#file = folder === undefined ? undefined : path.join(folder, name);
  }

  recall(key: string): string | undefined {
    return this.#all().find(([known]) => known === key)?.[1];
  }

  keep(key: string, value: string): void {
    if (this.#file === undefined || value.length > VALUE_CHARS_MAX) return;
    // Most recent first.
    const all = [[key, value] as const, ...this.#all().filter(([known]) => known !== key)].slice(0, ENTRIES_MAX);
    try {
      makeFolders(path.dirname(this.#file));
      writeAtomic(this.#file, JSON.stringify(all));
    } catch {
      // The next run computes it again.
    }
  }

  #all(): (readonly [string, string])[] {
    const bytes = this.#file === undefined ? undefined : readRegular(this.#file, BYTES_MAX, isMineAlone);
    try {
      const all = JSON.parse(bytes?.toString() ?? '[]') as unknown;
      return Array.isArray(all) ? all.filter(isEntry) : [];
    } catch {
      return [];
    }
  }
}

function isEntry(entry: unknown): entry is readonly [string, string] {
  return Array.isArray(entry) && entry.length === 2 && entry.every(word => typeof word === 'string');
}

const ENTRIES_MAX = 32;
const VALUE_CHARS_MAX = 32 * 1024;
const BYTES_MAX = 4 * 1024 * 1024;
