import { closeSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { fileHash } from '../../base/file-hash.ts';
import type { CaseArtifact } from '../../contracts/artifacts/index.ts';
import { chainedLines } from '../run-folder/chain.ts';
import { Journal, openJournal } from '../run-folder/journal.ts';
import { refuseOdd } from '../run-folder/own-file.ts';
import { suiteCases } from './suite-folder.ts';
import { SUITE_LINE_BYTES_MAX, suiteLines } from './suite-resume.ts';
import type { AssetNote, SuiteLine, SuitePlan } from './suite-run.ts';

/**
 * Turns a suite that was started elsewhere into this user's run. Keeps the cases and their answers, but nothing else
 * from the folder's plan. `planOf` receives the number of answers.
 */
export function adoptSuite(folder: string, planOf: (done: number) => SuitePlan, isKept: KeepsCase): void {
  refuseOdd(folder);
  const fd = openJournal(folder);
  try {
    const linesIn = () => suiteLines(chainedLines(fd, undefined, SUITE_LINE_BYTES_MAX));
    const { lines, assets, done } = keptOf(folder, linesIn, isKept);
    const plan = planOf(done);
    Journal.replace(folder, append => {
      const begins: SuiteLine[] = [
        { is: 'laying', owner: plan.owner },
        { is: 'planned', plan, assets },
      ];
      for (const line of begins) append(line);
      for (const line of lines()) append(line);
    });
  } finally {
    closeSync(fd);
  }
}

/** Whether a finished case keeps its answer. If not, it is sent again. */
export type KeepsCase = (artifact: CaseArtifact) => boolean;

interface Kept {
  readonly lines: () => Iterable<SuiteLine>;
  /** The files stored together with the plan. */
  readonly assets: readonly AssetNote[];
  readonly done: number;
}

/** Collects one answer for each case in the folder. The assets must match the journal. */
function keptOf(folder: string, linesIn: () => Iterable<SuiteLine>, isKept: KeepsCase): Kept {
  const ids = new Set([...suiteCases(folder)].map(({ id }) => id));
  const done = new Set<string>();
  const laid: AssetNote[] = [];
  for (const line of linesIn()) {
    if (line.is === 'planned' && laid.length === 0) laid.push(...line.assets);
    const isOfCase = line.is === 'case' && ids.has(line.id) && line.artifact.case_id === line.id;
    if (isOfCase && isKept(line.artifact)) done.add(line.id);
    if ('assets' in line) checkAssets(folder, line.assets ?? []);
  }
  return {
    *lines() {
      const left = new Set(done);
      for (const line of linesIn()) {
        // A finished case refers to the assets of its earlier attempts.
        if (line.is === 'failed' && left.has(line.id)) yield line;
        if (line.is === 'case' && isKept(line.artifact) && left.delete(line.id)) yield line;
      }
    },
    assets: laid,
    done: done.size,
  };
}

function checkAssets(folder: string, assets: readonly AssetNote[]): void {
  for (const { href, sha256 } of assets) {
    const isInAssets = /^assets\/[^/]+$/.test(href) && path.posix.normalize(href) === href;
    if (isInAssets && fileHash(path.join(folder, href)) === sha256) continue;
    throw new Fault(
      'odd_folder',
      'A file in the run folder differs from the journal. Proctor did not change the folder.',
    );
  }
}
