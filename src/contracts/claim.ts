/** A statement that a document makes about another file. */
export type Claim = FileClaim | AssetClaim;

/** A file exists, and may have a stated size and hash. */
export interface FileClaim {
  /** The path of the claim in the document, such as `a.b[0]`. */
  readonly at: string;
  /** Relative to the folder that the contract's `claimsFrom` selects. */
  readonly file: string;
  /** The hash of the file's bytes. */
  readonly sha256?: string;
  /** The hash of the canonical form of the JSON document in the file. */
  readonly documentSha256?: string;
  readonly bytes?: number;
  /** The file may be missing, but must match if it exists. */
  readonly optional?: true;
  /** A missing or different file is advice, not a violation. */
  readonly hint?: true;
}

/** The asset manifest lists this id. */
interface AssetClaim {
  readonly at: string;
  readonly asset: string;
}
