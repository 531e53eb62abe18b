import { checkerIfUsable } from '../../verbs/keys.ts';
import { pageDataOf } from '../../verbs/run-pages.ts';
import type { RunPlace } from './run-index.ts';
import { StampedCache } from './stamped-cache.ts';
import { treeStamp } from './tree-stamp.ts';

/** What the viewer reads of runs. Reading a run verifies it, so each answer is kept until a file changes. */
export class RunData {
  readonly #cwd: string;
  readonly #pages = new StampedCache<string | undefined>({
    entriesMax: 100,
    unitsMax: 64 * 1024 ** 2,
    unitsOf: text => text?.length ?? 0,
    checkAfterMs: 1_000,
  });

  constructor(cwd: string) {
    this.#cwd = cwd;
  }

  /** The page of a run as JSON; undefined for a suite run. */
  page(place: RunPlace): Promise<string | undefined> {
    const { folder } = place;
    const read = async () => {
      const page = await pageDataOf(place, checkerIfUsable(this.#cwd));
      return page && JSON.stringify(page);
    };
    return this.#pages.get(folder, () => treeStamp(folder), read);
  }
}
