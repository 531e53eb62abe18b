import type { CredentialKind } from '../contracts/recording/index.ts';

/** A login that an agent's CLI stores in the user's home folder. Proctor reads it, but never refreshes or writes it. */
export interface LoginFile {
  /** The variable that names its folder, and the default folder below the home folder. */
  readonly folderVariable: string;
  readonly folder: string;
  readonly file: string;
  readonly as: CredentialKind;
  /** The address of the API that accepts it. */
  readonly urlVariable: string;
  readonly defaultUrl: string;
  /** Reads the content of the file; undefined if it is not a login for this program. */
  held(value: unknown): HeldLogin | undefined;
}

export interface HeldLogin {
  /** Sent as a bearer token. */
  readonly token: string;
  readonly expiresAtMs: number;
  /** Additional headers to send. */
  readonly headers: Readonly<Record<string, string>>;
  /** All values to mask, including the token. */
  readonly secrets: readonly string[];
}

/** A printable ASCII token that fits in a header. */
export function headerWord(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\u0021-\u007e]{8,16384}$/.test(value) ? value : undefined;
}
