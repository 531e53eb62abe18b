import { closeSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { fileHash } from '../base/file-hash.ts';
import { chainedLines } from './chain.ts';
import { Journal, openJournal } from './journal.ts';
import { refuseOdd } from './own-file.ts';
import { suiteCases } from './suite-folder.ts';
import { LINE_BYTES_MAX, suiteLines } from './suite-resume.ts';
import type { AssetNote, SuiteLine, SuitePlan } from './suite-run.ts';

/**
 * Makes a suite that was begun elsewhere a run of this user's. The new plan holds nothing that the folder named but its
 * cases; answers that came elsewhere stay, and `planOf` is told how many there are.
 */
export function adoptSuite(folder: string, planOf: (done: number) => SuitePlan): void {
  refuseOdd(folder);
  const fd = openJournal(folder);
  try {
    const { lines, assets, done } = keptOf(folder, () => suiteLines(chainedLines(fd, undefined, LINE_BYTES_MAX)));
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

interface Kept {
  readonly lines: () => Iterable<SuiteLine>;
  /** The files that were laid out with the cases. */
  readonly assets: readonly AssetNote[];
  readonly done: number;
}

/** Answers to cases of the folder, each once, whose files are what the journal says. */
function keptOf(folder: string, linesIn: () => Iterable<SuiteLine>): Kept {
  const ids = new Set([...suiteCases(folder)].map(({ id }) => id));
  const done = new Set<string>();
  const laid: AssetNote[] = [];
  for (const line of linesIn()) {
    if (line.is === 'planned' && laid.length === 0) laid.push(...line.assets);
    if (line.is === 'case' && ids.has(line.id) && line.artifact.case_id === line.id) done.add(line.id);
    if ('assets' in line) checkAssets(folder, line.assets);
  }
  return {
    *lines() {
      const left = new Set(done);
      for (const line of linesIn()) {
        // A finished case refers to the files of its earlier attempts.
        if (line.is === 'failed' && left.has(line.id)) yield line;
        if (line.is === 'case' && left.delete(line.id)) yield line;
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
    throw new Fault('odd_folder', 'A file of the run is not what its journal says. It is left as it is.');
  }
}
