import type { Role } from './roles.ts';

/** A person or program that the server knows. */
export interface Identity {
  /** `person`, `token:tok_…` or `oidc:…`. It owns the script runs that it starts. */
  readonly id: string;
  /** For lists and the audit log. */
  readonly name: string;
  readonly role: Role;
}

/** The person on loopback who has the secret of the printed address. */
export const PERSON: Identity = { id: 'person', name: 'you', role: 'admin' };

export function tokenIdentity({
  id,
  name,
  role,
}: {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
}): Identity {
  return { id: `token:${id}`, name, role };
}
