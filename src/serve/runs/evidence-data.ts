import { lstatSync } from 'node:fs';
import path from 'node:path';
import { SEAL } from '../../evidence/run-folder/finish.ts';
import { LEDGER } from '../../evidence/ledger/ledger.ts';
import type { EvidenceView, LedgerFacts } from '../../verbs/evidence/evidence-view.ts';
import { ledgerTop } from '../../verbs/evidence/ledger-top.ts';
import type { RunEvidence } from '../../verbs/evidence/run-evidence.ts';
import type { ReadingThreads } from '../../verbs/reading/reading-threads.ts';
import type { ReadablePlace } from './run-index.ts';
import { StampedCache } from '../../base/stamped-cache.ts';
import { treeStamp } from '../../base/tree-stamp.ts';

interface Project {
  readonly cwd: string;
  readonly home: string;
  readonly threads: ReadingThreads;
}

/** The evidence of runs. Verifying reads every file of a run, so a thread does it, and repeats it only after a change. */
export class EvidenceData {
  readonly #project: Project;
  readonly #runs = new StampedCache<RunEvidence>({ ...KEPT, unitsOf: sizeOf });
  readonly #ledgers = new StampedCache<LedgerFacts>({ ...KEPT, unitsOf: sizeOf });

  constructor(project: Project) {
    this.#project = project;
  }

  async of({ folder, isAttempt }: Pick<ReadablePlace, 'folder' | 'isAttempt'>): Promise<EvidenceView> {
    const { cwd, home, threads } = this.#project;
    const evidence = await this.#runs.get(
      folder,
      () => treeStamp(folder),
      () => threads.read('evidence', { folder, cwd }),
    );
    // The ledger has a line for the suite, and none for its attempts.
    if (evidence.seal === null || isAttempt) return { ...evidence, ledger: null };
    const [ledgerFile, seal] = [path.join(home, LEDGER), path.join(folder, SEAL)];
    // A line of the ledger may appear or change without a change of the run.
    const ledger = await this.#ledgers.get(
      folder,
      async () => `${stampOf(ledgerFile)} ${stampOf(seal)}`,
      () => threads.read('ledger', { home, folder }),
    );
    return { ...evidence, ledger, top: ledgerTop(evidence.top, ledger) };
  }
}

const KEPT = { entriesMax: 500, unitsMax: 32 * 1024 ** 2, checkAfterMs: 1_000 };

const sizeOf = (value: unknown): number => JSON.stringify(value).length;

function stampOf(file: string): string {
  const stat = lstatSync(file, { bigint: true, throwIfNoEntry: false });
  return stat ? `${stat.ino}.${stat.size}.${stat.ctimeNs}` : '-';
}
