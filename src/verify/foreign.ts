import path from 'node:path';
import { above, filesBelow, type Tree } from './walk.ts';

/**
 * Which files of a folder are the program's own business, whatever their name: what it left in output/, and what Proctor
 * put aside as it came, in evidence/internal/ and, of an agent, in evidence/native/. Nothing in there is a document, or a
 * place where documents lie.
 */
export function foreignIn(isEvidenceAlone: boolean): (file: string) => boolean {
  // Given evidence/ alone, its internal files are still internal.
  const around = isEvidenceAlone ? 'evidence/' : '';
  return file => /(?:^|\/)(?:output|evidence\/(?:internal|native))\//.test(around + file);
}

/** The journals that lie where a run has its folder: at the top, beside evidence/, or among the runs of a home. */
export function journalsIn(tree: Tree, isForeign: (file: string) => boolean): ReadonlySet<string> {
  const isJournal = (file: string): boolean => {
    if (path.posix.basename(file) !== 'journal.ndjson' || isForeign(file)) return false;
    const folder = above(file, 0) ?? '';
    return folder === '' || AMONG_RUNS.test(folder) || !filesBelow(`${folder}/evidence/`, tree).next().done;
  };
  return new Set(tree.paths.filter(isJournal));
}

const AMONG_RUNS = /(?:^|\/)runs\/[^/]+\/[^/]+$/;
