import type { LimitStrength } from '../../contracts/script-outcome/claims.ts';
import type { MaskingNote } from '../../contracts/script-outcome/masking.ts';
import type { RecoveredNote } from '../../contracts/script-outcome/shape.ts';

/** What the pages of scripts and intents share. Every list is bounded; `total` counts all of its members. */
export interface ShortList<Item> {
  readonly shown: readonly Item[];
  readonly total: number;
}

/** A line of a stream. A long line is cut; the number says how many bytes are missing. */
export type PageLine = string | readonly [text: string, bytesMissing: number];

export interface PageStream {
  readonly name: 'stdout' | 'stderr';
  readonly bytes_total: number;
  readonly bytes_kept: number;
  /** Proctor kept only the beginning and the end. */
  readonly is_truncated: boolean;
  readonly masked: number;
  /** The file in the run folder. */
  readonly file: string;
  /** Null if the file cannot be read. */
  readonly text: PageText | null;
}

/** The first and last lines of a stored stream. */
export interface PageText {
  readonly lines: readonly PageLine[];
  /** The lines that the page leaves out, after the first `after` lines. */
  readonly gap: { readonly after: number; readonly lines: number } | null;
  /** False if bytes that are not UTF-8 are shown as U+FFFD. */
  readonly is_utf8: boolean;
}

export type LimitUnit = 'ms' | 'bytes' | 'count';

/** One limit, and how much of it the run used. Null means unknown or not set. */
export interface PageLimit {
  readonly name: string;
  readonly unit: LimitUnit;
  /** What the caller asked for; null for a default. */
  readonly asked: number | null;
  readonly allowed: number | null;
  readonly used: number | null;
  /** How the limit was enforced; null if the evidence does not say. */
  readonly strength: LimitStrength | null;
  /** The mechanism, such as "cgroup v2". */
  readonly by: string | null;
  readonly note: string | null;
}

/** One property of the sandbox: what was requested, what enforced it, and what a probe saw before the run. */
export interface PageGuard {
  readonly name: string;
  readonly asked: string | null;
  readonly enforced: string;
  readonly probe: { readonly held: boolean; readonly note: string } | null;
}

export interface PageSandbox {
  readonly guards: readonly PageGuard[];
  readonly warnings: ShortList<string>;
  /** Why there is no record of the sandbox. */
  readonly absent: string | null;
}

export interface PageFile {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string | null;
  /** Why the file needs review; null if it does not. */
  readonly review: string | null;
}

export interface PageMasking {
  readonly credentials: MaskingNote['credentials'];
  readonly kinds: ShortList<readonly [kind: string, count: number]>;
  readonly flagged: number;
}

/** Whether the run folder verifies, and who signed it. */
export interface PageEvidence {
  readonly is_open: boolean;
  readonly is_whole: boolean;
  /** How many files the seal lists; null without a readable seal. */
  readonly files: number | null;
  /** The keys that the seal names; null if it is not signed. */
  readonly key_ids: readonly string[] | null;
  /** Whether the caller's key has signed the seal; null if it is not signed or there is no key. */
  readonly signed: 'right' | 'wrong' | 'by another key' | null;
}

/** A command to copy. */
export interface PageCommand {
  readonly does: string;
  readonly command: string;
  readonly note?: string;
}

/** The parts that exist only if a program ran. */
export interface RanStep {
  readonly limits: readonly PageLimit[];
  /** Limits whose use was not measured. */
  readonly further: readonly PageLimit[];
  readonly sandbox: PageSandbox;
  readonly streams: readonly PageStream[];
  readonly masking: PageMasking | null;
  readonly recovered: RecoveredNote | null;
}
