/** Bytes that must not be seen, from one place up to another. */
export interface FoundSecret {
  readonly at: number;
  readonly end: number;
  /** Undefined where more bytes are needed to know: nothing from `at` on may be shown yet. */
  readonly kind: string | undefined;
}

/** With the length of the longest that it finds. */
export interface SpeltFinder {
  readonly finder: Finder;
  readonly longest: number;
}

/** Finds what must be masked. */
export interface Finder {
  /** The first that begins at `from` or later; of those that begin together, the longest. */
  find(bytes: Buffer, from: number, canGrow: boolean): FoundSecret | undefined;
  /** What is looked for where letters are spelt out: see spellings.ts. */
  readonly spelt?: SpeltFinder | undefined;
  /** From where on the bytes could be the beginning of one that is longer than they are. */
  holdAt(bytes: Buffer, from: number): number;
}
