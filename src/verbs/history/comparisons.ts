import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import type { Checker } from '../../contracts/seal/index.ts';
import type { ComparedCase } from '../../contracts/comparison/index.ts';
import { readComparison } from '../../evidence/judgement/comparison-files.ts';
import { readSeal } from '../../evidence/judgement/judgement.ts';
import { byAge } from '../../evidence/run-folder/runs.ts';
import { shortMessage } from './case-table.ts';

/** The comparisons of a project, by the seals of their candidates. */
export class Comparisons {
  /** The folder of the newest comparison of each run. */
  readonly #folders = new Map<string, string>();
  readonly #cases = new Map<string, ReadonlyMap<string, ComparedCase>>();
  readonly #key: Checker | undefined;

  constructor(home: string, key: Checker | undefined) {
    this.#key = key;
    for (const folder of newestIn(path.join(home, 'comparisons'))) {
      const sealed = readSeal(folder, 'comparison.json');
      if (sealed.state !== 'sound') continue;
      for (const { what, side, seal_sha256 } of sealed.statement.predicate.rests_on) {
        if (what === 'run' && side === 'new' && !this.#folders.has(seal_sha256)) this.#folders.set(seal_sha256, folder);
      }
    }
  }

  /** The page of the newest comparison of a run. */
  pageOf(sealSha256: string): string | undefined {
    const folder = this.#folders.get(sealSha256);
    const page = folder && path.join(folder, 'report.html');
    return page !== undefined && existsSync(page) ? page : undefined;
  }

  /** The cause that the comparison of a run names for a case; null if there is none. Reads at most 20 comparisons. */
  causeOf(sealSha256: string, caseId: string): string | null {
    const folder = this.#folders.get(sealSha256);
    const says = folder && this.#casesIn(folder).get(caseId)?.divergence?.says;
    return says === undefined || says === '' ? null : shortMessage(says);
  }

  #casesIn(folder: string): ReadonlyMap<string, ComparedCase> {
    const known = this.#cases.get(folder);
    if (known) return known;
    if (this.#cases.size >= READ_MAX) return new Map();
    const comparison = readComparison(folder, this.#key);
    const cases = 'why' in comparison ? [] : comparison.cases;
    const byId = new Map(cases.flatMap(one => (one.divergence ? [[one.case_id, one] as const] : [])));
    this.#cases.set(folder, byId);
    return byId;
  }
}

const READ_MAX = 20;
const LOOKED_AT_MAX = 500;

function newestIn(root: string): string[] {
  const names = existsSync(root) ? readdirSync(root, { withFileTypes: true }) : [];
  const places = names
    .filter(entry => entry.isDirectory())
    .map(({ name: id }) => ({ id, lane: 'comparison', folder: path.join(root, id) }));
  return byAge(places)
    .reverse()
    .slice(0, LOOKED_AT_MAX)
    .map(({ folder }) => folder);
}
