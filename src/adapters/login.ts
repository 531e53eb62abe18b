import type { CredentialKind } from '../contracts/recording/index.ts';

/** A login that an agent's own program keeps in the home of its user. Proctor reads it, and never refreshes or writes it. */
export interface LoginFile {
  /** The variable that names its folder, and the folder below the home where that is not set. */
  readonly folderVariable: string;
  readonly folder: string;
  readonly file: string;
  readonly as: CredentialKind;
  /** Where it is valid. */
  readonly urlVariable: string;
  readonly defaultUrl: string;
  /** What the file holds; undefined if that is no login of this program. */
  held(value: unknown): HeldLogin | undefined;
}

export interface HeldLogin {
  /** Sent as a bearer token. */
  readonly token: string;
  readonly expiresAtMs: number;
  /** Headers that go with it. */
  readonly headers: Readonly<Record<string, string>>;
  /** Everything in it that must not be seen, the token included. */
  readonly secrets: readonly string[];
}

/** A word that can stand in a header. */
export function headerWord(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\u0021-\u007e]{8,16384}$/.test(value) ? value : undefined;
}
