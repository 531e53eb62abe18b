/** A range of bytes to mask. */
export interface Found {
  readonly at: number;
  readonly end: number;
  /** Undefined if more bytes are needed to decide. Then nothing from `at` on may be shown yet. */
  readonly kind: string | undefined;
}

/** A finder, and the length of its longest match. */
export interface SpeltFinder {
  readonly finder: Finder;
  readonly longest: number;
}

/** Finds bytes to mask. */
export interface Finder {
  /** The first match at `from` or later; of several at one position, the longest. */
  find(bytes: Buffer, from: number, canGrow: boolean): Found | undefined;
  /** Finds values whose characters are escaped: see spellings.ts. */
  readonly spelt?: SpeltFinder | undefined;
  /** The position from which the bytes could be the start of an incomplete match. */
  holdAt(bytes: Buffer, from: number): number;
}
