export interface Options {
  /** The contract to use, whatever the document says. */
  readonly as?: string;
  /** Treat unknown keys and bytes that are not canonical as violations, not advice. */
  readonly strict?: boolean;
  /** Allow fields for internal use. */
  readonly internal?: boolean;
  /** Overrides the size limits of all contracts. */
  readonly bytesMax?: number;
  /** Read files and standard input as one record per line, whatever their name. */
  readonly ndjson?: boolean;
  /** Public keys in PEM format to verify seals with. Any of them may have signed. */
  readonly key?: string | readonly string[];
  /** With a key: public keys in PEM format that must not have signed. */
  readonly revoked?: readonly string[];
  /** With a key: a folder with an unsigned seal is invalid. */
  readonly requireSignature?: boolean;
}
