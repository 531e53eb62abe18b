import { FindingCollector } from '../contracts/check.ts';
import type { Contract } from '../contracts/contract.ts';
import type { Tree } from './walk.ts';

/** Receives a folder's documents one by one, and reports rules that they violate together. */
export interface Inspector {
  take(document: FolderDocument): void;
  end?(): void;
}

/** What inspectors know about the folder beyond its documents. */
export interface Surroundings {
  readonly tree: Tree;
  /** The hash of a file. Cached. */
  readonly hashOf: (file: string) => string | undefined;
  /** Reads a file. Undefined if it does not exist or is too large. */
  readonly bytesOf: (file: string) => Buffer | undefined;
  /** The lines of a file of any size. Each is valid only until the next. Stops at a line that is too long. */
  readonly linesIn: (file: string) => Iterable<Buffer>;
  /** The content hash of the JSON document in a file. Cached. */
  readonly documentHashOf: (file: string) => string | undefined;
  /** Files with a verdict other than "valid". Inspectors do not report them again. */
  readonly troubled: ReadonlySet<string>;
  /** Files that never count as documents, whatever their name. */
  readonly isForeign: (file: string) => boolean;
  /** Journals of unfinished runs. */
  readonly journals: ReadonlySet<string>;
  /** Whether this user's Proctor started a journal's run on this machine. */
  readonly isStartedHere: (journal: string) => boolean;
  /** Whether a missing file expired, as a valid evidence/expired.json states. */
  readonly isExpired: (file: string) => boolean;
  readonly report: ReportFinding;
}

export type ReportFinding = (finding: FolderFinding) => void;

/** Collects findings that involve more than one document. */
export function collectFindings(): { readonly found: FindingCollector; readonly report: ReportFinding } {
  const found = new FindingCollector();
  const report: ReportFinding = ({ rule, level, file, at, message }) => {
    const place = at === undefined ? file : `${file}: ${at}`;
    const path = at === undefined ? file : `${file}#${at}`;
    found.add(level, { rule_id: rule, message: `${place} ${message}.`, path });
  };
  return { found, report };
}

/** A valid document. */
export interface FolderDocument {
  /** Relative to the folder, with `/` between names. */
  readonly file: string;
  /** The file name in findings, with a line number for NDJSON. */
  readonly place: string;
  readonly contract: Contract;
  readonly value: object;
  /** Undefined if the contract has no environment. */
  readonly environmentHash: string | undefined;
}

export interface FolderFinding {
  readonly rule: string;
  readonly level: 'must' | 'should';
  readonly file: string;
  /** The key, as `a.b[0]`. */
  readonly at?: string;
  /** Continues a sentence that starts with file and key: "refers to a file that does not exist". */
  readonly message: string;
}

export function mustFinding(rule: string, file: string, at: string, message: string): FolderFinding {
  return { rule, level: 'must', file, at, message };
}
