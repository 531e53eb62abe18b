/** How documents, folders and packs are judged. */
export interface Options {
  /** The name of the contract to judge by, whatever the document says of itself. */
  readonly as?: string;
  /** Unknown keys and bytes that are not canonical are violations, not advice. */
  readonly strict?: boolean;
  /** Fields for internal use are allowed. */
  readonly internal?: boolean;
  /** Replaces the size cap of every contract. */
  readonly bytesMax?: number;
  /** Files and standard input hold a record per line, whatever their name. */
  readonly ndjson?: boolean;
  /** A public key in PEM: folders are asked whether their seals are signed with it. */
  readonly key?: string;
  /** Together with a key: a folder whose seal is not signed is invalid. */
  readonly requireSignature?: boolean;
}
