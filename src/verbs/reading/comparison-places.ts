import { lstatSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { byAge, type RunFolder } from '../../evidence/run-folder/runs.ts';

/** The folders of the comparisons of a project, newest first. */
export function projectComparisons(home: string): RunFolder[] {
  const root = path.join(home, 'comparisons');
  let names: string[];
  try {
    names = readdirSync(root);
  } catch {
    return [];
  }
  const places = names.map(id => ({ id, lane: 'comparison', folder: path.join(root, id) }));
  return byAge(places.filter(isThere)).reverse();
}

const isThere = ({ folder }: RunFolder): boolean =>
  lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() === true &&
  lstatSync(path.join(folder, 'comparison.json'), { throwIfNoEntry: false })?.isFile() === true;
