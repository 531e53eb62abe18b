import { createHash } from 'node:crypto';
import { lstatSync } from 'node:fs';
import path from 'node:path';
import { setImmediate as others } from 'node:timers/promises';
import type { ReadingThreads } from '../../verbs/reading/reading-threads.ts';
import type { RunIndex } from './run-index.ts';
import { StampedCache } from '../../base/stamped-cache.ts';

interface Project {
  readonly cwd: string;
  readonly home: string;
  readonly runs: RunIndex;
  readonly threads: ReadingThreads;
}

/** The histories of suites and cases. A thread reads them, and repeats that only after one of their files changes. */
export class HistoryData {
  readonly #project: Project;
  readonly #pages = new StampedCache<string>({
    entriesMax: 200,
    unitsMax: 64 * 1024 ** 2,
    unitsOf: text => text.length,
    checkAfterMs: 2_000,
  });

  constructor(project: Project) {
    this.#project = project;
  }

  /** The page of a history as JSON. */
  page(suite?: string, caseId?: string): Promise<string> {
    const { cwd, threads } = this.#project;
    const read = async () => JSON.stringify(await threads.read('history', { cwd, suite, caseId }));
    return this.#pages.get(JSON.stringify([suite, caseId]), () => this.#stamp(), read);
  }

  async #stamp(): Promise<string> {
    const { runs, home } = this.#project;
    const hash = createHash('sha256').update(stampOf(path.join(home, 'comparisons')));
    const suites = runs.places().filter(({ lane }) => lane === 'baseline' || lane === 'new');
    for (const [index, { folder }] of suites.slice(0, RUNS_MAX).entries()) {
      for (const name of ['', ...FILES]) hash.update(stampOf(path.join(folder, name)));
      if (index % RUNS_AT_ONCE === 0) await others();
    }
    return hash.digest('base64');
  }
}

/** What a history reads of a run. */
const FILES = ['run.json', 'evaluation.json', 'evaluation.seal.json', 'evidence/request.json', 'evidence/seal.json'];
/** As many run folders as a history looks at. */
const RUNS_MAX = 5_000;
const RUNS_AT_ONCE = 200;

function stampOf(file: string): string {
  const stat = lstatSync(file, { bigint: true, throwIfNoEntry: false });
  return stat ? `${file}\0${stat.ino}.${stat.size}.${stat.ctimeNs}\0` : '-';
}
