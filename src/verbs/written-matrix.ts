import { lstatSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { byAge, type RunFolder, runsIn, secondOf } from '../evidence/run-folder/runs.ts';
import { comparisonFolder } from './report.ts';

/**
 * The page of a matrix by its id or the start of it, or the newest page for `latest` if no run and no comparison is
 * newer. A matrix seals nothing, so its page is opened as it was written.
 */
export function writtenMatrix(word: string, home: string, cwd: string): string | undefined {
  const pages = byAge(foldersIn(path.join(home, 'reports')).filter(({ folder }) => hasPage(folder)));
  if (word !== 'latest') {
    if (!word.startsWith('matrix_')) return undefined;
    const matches = pages.filter(({ id }) => id.startsWith(word));
    return matches.length === 1 && matches[0] ? pageIn(matches[0].folder) : undefined;
  }
  const newest = pages.at(-1);
  if (!newest) return undefined;
  const comparison = comparisonFolder('latest', home, cwd);
  const others = [
    ...runsIn(home).slice(-1),
    ...(comparison === undefined ? [] : [{ id: path.basename(comparison), lane: 'comparison', folder: comparison }]),
  ];
  // Within the same second, the matrix is newer, because it needs its runs.
  return others.every(other => secondOf(newest) >= secondOf(other)) ? pageIn(newest.folder) : undefined;
}

const MATRIX_ID = /^matrix_\d{8}_\d{6}_[0-9a-f]{12}$/;

function foldersIn(reports: string): RunFolder[] {
  try {
    return readdirSync(reports, { withFileTypes: true })
      .filter(entry => entry.isDirectory() && MATRIX_ID.test(entry.name))
      .map(({ name }) => ({ id: name, lane: 'matrix', folder: path.join(reports, name) }));
  } catch {
    return [];
  }
}

function pageIn(folder: string): string {
  return path.join(folder, 'report.html');
}

function hasPage(folder: string): boolean {
  return lstatSync(pageIn(folder), { throwIfNoEntry: false })?.isFile() === true;
}
