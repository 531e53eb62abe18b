import type { Violation } from '../contracts/check.ts';

/** The result for one document, file or folder. `--json` prints it unchanged. */
export interface Verdict {
  /** The name as given. A line of NDJSON ends in `:3`; a document in a folder starts with the folder. */
  readonly input: string;
  readonly outcome: Outcome;
  readonly contract?: string | undefined;
  /** Why the document was not judged. */
  readonly reason?: { readonly code: string; readonly message: string };
  readonly violations: readonly Violation[];
  readonly advice: readonly Violation[];
  /** The number of violations and pieces of advice that are not listed. */
  readonly omitted?: number | undefined;
  /** The content hash of a valid document. */
  readonly hash?: string | undefined;
  readonly environment_hash?: string | undefined;
  /** The file or folder that contains the document. It gets its own verdict after its documents. */
  readonly within?: string | undefined;
  /** Counts, for NDJSON and folders. */
  readonly documents?: Counts;
  /** For folders with a seal. */
  readonly signatures?: Signatures | undefined;
  readonly not_checked: readonly string[];
  /** Notes for the user that are not rule violations. */
  readonly notes?: readonly string[];
}

interface Counts {
  readonly outcomes: Readonly<Partial<Record<Outcome, number>>>;
  readonly contracts: Readonly<Record<string, number>>;
  /** The number of documents with advice. */
  readonly advised: number;
}

export interface Signatures {
  readonly signed: number;
  readonly unsigned: number;
  /** The keys that the signatures name. Anyone can claim a key id. */
  readonly key_ids: readonly string[];
  /** Every signed seal has a valid signature by the given key. */
  readonly checked: boolean;
}

export type Outcome = 'valid' | 'invalid' | 'refused' | 'unreadable';

/** Exit codes of the verifier. With several inputs, the highest one counts. */
export const EXIT: Record<Outcome, number> = { valid: 0, unreadable: 1, refused: 2, invalid: 3 };

export function unreadable(input: string, code: string, message: string, within?: string): Verdict {
  return {
    within,
    input,
    outcome: 'unreadable',
    reason: { code, message },
    violations: [],
    advice: [],
    not_checked: [],
  };
}

export function refused(input: string, code: string, message: string, within?: string): Verdict {
  return { within, input, outcome: 'refused', reason: { code, message }, violations: [], advice: [], not_checked: [] };
}
