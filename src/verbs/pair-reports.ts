import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import type { Foundation } from '../contracts/judgement-seal/index.ts';
import { readSeal } from '../evidence/judgement/judgement.ts';
import { byAge } from '../evidence/run-folder/runs.ts';
import type { Side } from '../judge/compare-input.ts';
import { foundationsOf } from '../judge/compare/foundations.ts';
import { asBaseline } from '../judge/compare/matrix.ts';
import type { PairReport } from '../reports/pages/matrix-page.ts';

/** The newest sealed HTML report of each pair of versions that were already compared, relative to a report folder. */
export function pairReports(versions: readonly { readonly side: Side }[], home: string): PairReport[] {
  const before = versions.map(({ side }) => keyOf(foundationsOf(asBaseline(side))));
  const now = versions.map(({ side }) => keyOf(foundationsOf(side)));
  const found = new Map<string, PairReport>();
  for (const { id, folder } of newestIn(path.join(home, 'comparisons'))) {
    const sealed = readSeal(folder, 'comparison.json');
    if (sealed.state !== 'sound' || !sealed.statement.subject.some(({ name }) => name === REPORT)) continue;
    const { rests_on } = sealed.statement.predicate;
    const [baseline, candidate] = [
      before.indexOf(keyOf(rests_on.filter(({ side }) => side === 'baseline'))),
      now.indexOf(keyOf(rests_on.filter(({ side }) => side === 'new'))),
    ];
    const pair = `${baseline} ${candidate}`;
    if (baseline < 0 || candidate < 0 || found.has(pair) || !existsSync(path.join(folder, REPORT))) continue;
    found.set(pair, { baseline, candidate, href: `../../comparisons/${encodeURIComponent(id)}/${REPORT}` });
  }
  return [...found.values()];
}

const REPORT = 'report.html';

/** The seals of the runs or of the accepted baseline. A run may be judged again, which changes only its evaluation. */
function keyOf(foundations: readonly Foundation[]): string {
  return foundations
    .filter(({ what }) => what !== 'evaluation')
    .map(({ seal_sha256 }) => seal_sha256)
    .sort()
    .join(' ');
}

function newestIn(root: string) {
  const ids = existsSync(root) ? readdirSync(root) : [];
  const places = ids.map(id => ({ id, lane: 'comparison', folder: path.join(root, id) }));
  const sealed = places.filter(({ folder }) => existsSync(path.join(folder, 'comparison.seal.json')));
  return byAge(sealed).reverse().slice(0, COMPARISONS_MAX);
}

/** A seal is read in about a millisecond. */
const COMPARISONS_MAX = 200;
