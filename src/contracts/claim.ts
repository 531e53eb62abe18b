/** What a document says of something beside it. */
export type Claim = FileClaim | AssetClaim;

/** A file is there, and perhaps it has a certain size and hash. */
export interface FileClaim {
  /** Where the document says so, as `a.b[0]`. */
  readonly at: string;
  /** The file, relative to the folder that `claimsFrom` of the contract names. */
  readonly file: string;
  /** `sha256:` and hexadecimal digits, over the bytes of the file. */
  readonly sha256?: string;
  /** The same over the canonical form of the JSON document in the file, for references to documents. */
  readonly documentSha256?: string;
  readonly bytes?: number;
  /** The file may be missing; if it is there, it must be the one. */
  readonly optional?: true;
  /** The document promises nothing: a file that is missing or differs is advice. */
  readonly hint?: true;
}

/** An asset is listed under this id in the manifest of assets. */
interface AssetClaim {
  readonly at: string;
  readonly asset: string;
}
