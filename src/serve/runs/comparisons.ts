import { lstatSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { StampedCache } from '../../base/stamped-cache.ts';
import { projectComparisons } from '../../verbs/reading/comparison-places.ts';
import type { BaselineChoices, ComparisonOrder, ComparisonRow } from '../../verbs/reading/comparison-list.ts';
import type { ReadingThreads } from '../../verbs/reading/reading-threads.ts';
import { indexAfter } from './index-after.ts';

interface Project {
  readonly cwd: string;
  readonly home: string;
  readonly threads: ReadingThreads;
}

/** Which comparisons to list. */
export interface ComparisonQuery {
  /** A run on either side. */
  readonly run?: string | undefined;
  /** The last comparison of the page before. */
  readonly after?: string | undefined;
  readonly limit: number;
}

export interface ComparisonListPage {
  readonly comparisons: readonly ComparisonRow[];
  readonly next: string | null;
}

/** The sealed comparisons of a project. A row is read again only after its files change. */
export class ComparisonIndex {
  readonly #project: Project;
  readonly #rows = new StampedCache<ComparisonRow>({
    entriesMax: 5_000,
    unitsMax: 5_000,
    unitsOf: () => 1,
    checkAfterMs: 500,
  });
  /** The comparisons that are being made. Asking for the same one again waits for it. */
  readonly #making = new Map<string, Promise<ComparisonRow>>();

  constructor(project: Project) {
    this.#project = project;
  }

  /** The folder of the comparison with exactly this id. An id from outside never becomes a path. */
  folderOf(id: string): string {
    const place = projectComparisons(this.#project.home).find(one => one.id === id);
    if (!place) throw new Fault('no_comparison', `There is no comparison ${id}.`);
    return place.folder;
  }

  async list({ run, after, limit }: ComparisonQuery): Promise<ComparisonListPage> {
    const places = projectComparisons(this.#project.home);
    const from = indexAfter(after, places, ({ id }) => id === after);
    const comparisons: ComparisonRow[] = [];
    for (const { folder } of places.slice(from)) {
      const row = await this.row(folder);
      if (run !== undefined && !isAbout(row, run)) continue;
      if (comparisons.length === limit) return { comparisons, next: comparisons.at(-1)?.comparison_id ?? null };
      comparisons.push(row);
    }
    return { comparisons, next: null };
  }

  row(folder: string): Promise<ComparisonRow> {
    const { cwd, threads } = this.#project;
    const read = () => threads.read('comparison', { folder, cwd }, { near: folder });
    return this.#rows.get(folder, async () => stampOf(folder), read);
  }

  choices(folder: string): Promise<BaselineChoices> {
    const { cwd, threads } = this.#project;
    return threads.read('choices', { folder, cwd });
  }

  /** Makes a comparison. Undefined if it takes longer than a client should wait. */
  async make(order: ComparisonOrder): Promise<ComparisonRow | undefined> {
    const { cwd, threads } = this.#project;
    const key = JSON.stringify(order);
    const known = this.#making.get(key);
    const making = known ?? threads.read('compare', { ...order, cwd }).finally(() => this.#making.delete(key));
    if (!known) this.#making.set(key, making);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<undefined>(resolve => {
      timer = setTimeout(() => resolve(undefined), WAIT_MS);
    });
    // The client may have gone when the comparison fails.
    making.catch(() => undefined);
    return Promise.race([making, late]).finally(() => clearTimeout(timer));
  }
}

const WAIT_MS = 20_000;

const isAbout = ({ baseline, candidate }: ComparisonRow, run: string): boolean =>
  [baseline, candidate].some(side => side?.run_ids.includes(run));

function stampOf(folder: string): string {
  return ['comparison.json', 'comparison.seal.json']
    .map(name => lstatSync(path.join(folder, name), { bigint: true, throwIfNoEntry: false }))
    .map(stat => (stat ? `${stat.ino}.${stat.size}.${stat.ctimeNs}` : '-'))
    .join(' ');
}
