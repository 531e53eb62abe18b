import type { Violation } from '../contracts/check.ts';

/** What was found out about one document, file or folder. Written as it is by `--json`. */
export interface Verdict {
  /** The name it was given by; a line of NDJSON ends in `:3`, a document in a folder begins with the folder. */
  readonly input: string;
  readonly outcome: Outcome;
  /** The contract it was judged by. */
  readonly contract?: string | undefined;
  /** Why it was not judged. */
  readonly reason?: { readonly code: string; readonly message: string };
  readonly violations: readonly Violation[];
  readonly advice: readonly Violation[];
  /** How many violations and pieces of advice are not listed. */
  readonly omitted?: number | undefined;
  /** The content hash, only of a valid document. */
  readonly hash?: string | undefined;
  readonly environment_hash?: string | undefined;
  /** The file or folder that it is a part of, which gets a verdict of its own after its parts. */
  readonly within?: string | undefined;
  /** For NDJSON and folders: what became of the documents in it. */
  readonly documents?: Counts;
  /** For folders with a seal. */
  readonly signatures?: Signatures | undefined;
  readonly not_checked: readonly string[];
  /** Sentences that one should have read, of what breaks no rule. */
  readonly notes?: readonly string[];
}

interface Counts {
  readonly outcomes: Readonly<Partial<Record<Outcome, number>>>;
  readonly contracts: Readonly<Record<string, number>>;
  /** How many have advice. */
  readonly advised: number;
}

/** What the seals of a folder say of who signed them. */
export interface Signatures {
  readonly signed: number;
  readonly unsigned: number;
  /** The keys that signatures name. Anybody can write a name. */
  readonly key_ids: readonly string[];
  /** Whether every signature was held against the key that was given, and was right. */
  readonly checked: boolean;
}

export type Outcome = 'valid' | 'invalid' | 'refused' | 'unreadable';

/** Exit codes of the verifier. With several inputs the highest counts. */
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
