import { Found } from '../contracts/check.ts';
import type { Contract } from '../contracts/contract.ts';
import type { Tree } from './walk.ts';

/** Looks at the documents of a folder as they come, and reports at once or at the end what they break together. */
export interface Inspector {
  take(document: FolderDocument): void;
  end?(): void;
}

/** What inspectors know of the folder beyond its documents. */
export interface Surroundings {
  readonly tree: Tree;
  /** The content hash of a file of the folder, computed once. */
  readonly hashOf: (file: string) => string | undefined;
  /** The content hash of the JSON document in a file of the folder, computed once. */
  readonly documentHashOf: (file: string) => string | undefined;
  /** Files that got a verdict of their own that is not "valid", so that nothing more need be said of them. */
  readonly troubled: ReadonlySet<string>;
  /** Files that are no documents of ours, whatever their name. */
  readonly isForeign: (file: string) => boolean;
  /** Journals of runs that are not finished. */
  readonly journals: ReadonlySet<string>;
  /** Whether this user's Proctor began the run of a journal on this machine. */
  readonly isStartedHere: (journal: string) => boolean;
  readonly report: Report;
}

export type Report = (finding: FolderFinding) => void;

/** What is found beyond single documents, and how it is told. */
export function findingsOf(): { readonly found: Found; readonly report: Report } {
  const found = new Found();
  const report: Report = ({ rule, level, file, at, message }) => {
    const place = at === undefined ? file : `${file}: ${at}`;
    const path = at === undefined ? file : `${file}#${at}`;
    found.add(level, { rule_id: rule, message: `${place} ${message}.`, path });
  };
  return { found, report };
}

/** A document that has the shape of its contract. */
export interface FolderDocument {
  /** Its file, relative to the folder, `/` between names. */
  readonly file: string;
  /** What findings call it: its file, and its line if it is one of many there. */
  readonly place: string;
  readonly contract: Contract;
  readonly value: object;
  /** The second hash of a contract that has one. */
  readonly environmentHash: string | undefined;
}

export interface FolderFinding {
  readonly rule: string;
  readonly level: 'must' | 'should';
  readonly file: string;
  /** Where in the document, as `a.b[0]`. */
  readonly at?: string;
  /** Continues the place: "names a file that is not there". */
  readonly message: string;
}
