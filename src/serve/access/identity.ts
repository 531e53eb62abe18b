import type { ServerRole } from './roles.ts';

/** Who asks. `id` is stable and safe to log; it is never the secret itself. */
export interface Identity {
  readonly id: string;
  readonly name: string;
  readonly role: ServerRole;
  /** Groups that the identity provider names; `who` in script.yaml may list them. */
  readonly groups?: readonly string[];
  /** How the client proved it. A browser sends cookies by itself, so a session needs protection from other sites. */
  readonly via: 'session' | 'token' | 'none';
}
