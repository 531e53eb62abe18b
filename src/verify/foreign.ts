import path from 'node:path';
import { above, filesBelow, type Tree } from './walk.ts';

/**
 * Whether a file never counts as a document, whatever its name: the program's output in output/, and unprocessed files
 * in evidence/internal/ and evidence/native/.
 */
export function foreignIn(isEvidenceAlone: boolean): (file: string) => boolean {
  // If only evidence/ is verified, its internal files are still internal.
  const around = isEvidenceAlone ? 'evidence/' : '';
  return file => /(?:^|\/)(?:output|evidence\/(?:internal|native))\//.test(around + file);
}

/** Journals at the top of a run folder: next to evidence/, or in a folder among a home's runs. */
export function journalsIn(tree: Tree, isForeign: (file: string) => boolean): ReadonlySet<string> {
  const isJournal = (file: string): boolean => {
    if (path.posix.basename(file) !== 'journal.ndjson' || isForeign(file)) return false;
    const folder = above(file, 0) ?? '';
    return folder === '' || AMONG_RUNS.test(folder) || !filesBelow(`${folder}/evidence/`, tree).next().done;
  };
  return new Set(tree.paths.filter(isJournal));
}

const AMONG_RUNS = /(?:^|\/)runs\/[^/]+\/[^/]+$/;
