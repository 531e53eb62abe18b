import type { ServerRole } from './roles.ts';

/** A person or program that the server knows. */
export interface Person {
  /** `you`, `token:tok_…` or `oidc:…`: stable, safe to log, never the secret itself. */
  readonly id: string;
  /** For lists and the audit log. */
  readonly name: string;
  readonly role: ServerRole;
  /** Groups that the identity provider or the token names; `who` in script.yaml may list them. */
  readonly groups?: readonly string[] | undefined;
  readonly quotas?: TokenQuotas | undefined;
}

/** What a token may use. Without a number, the limit of the server counts. */
export interface TokenQuotas {
  /** Requests per minute. */
  readonly rate?: number | undefined;
  /** Orders that wait. */
  readonly waiting?: number | undefined;
}

/** Who asks. */
export interface Identity extends Person {
  /** How the client proved it. A browser sends cookies by itself, so a session needs protection from other sites. */
  readonly via: 'session' | 'token' | 'none';
}

/** The person on this machine who has the secret of the printed address. */
export const YOU: Person = { id: 'you', name: 'you', role: 'admin' };

/** The person who runs commands of this server's user in a terminal. */
export const TERMINAL: Person = { id: 'terminal', name: 'terminal', role: 'admin' };

/** The identity that a token stands for. */
export function holderOf({ id, name, role, groups, quotas }: Person): Person {
  return { id: `token:${id}`, name, role, ...(groups && { groups }), ...(quotas && { quotas }) };
}
