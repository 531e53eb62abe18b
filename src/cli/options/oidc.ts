import { Fault } from '../../base/fault.ts';
import type { OidcSettings } from '../../serve/access/oidc.ts';
import { parseRoleRule } from '../../serve/access/oidc-roles.ts';
import type { ServerRole } from '../../serve/access/roles.ts';

export interface OidcFlags {
  readonly oidc?: string;
  readonly oidcClient?: string;
  readonly oidcRole?: readonly string[];
  readonly oidcDefault?: ServerRole | 'none';
}

/** The settings of the sign-in provider; undefined without --oidc. The client secret comes from the environment. */
export function oidcSettings({ oidc, oidcClient, oidcRole, oidcDefault }: OidcFlags): OidcSettings | undefined {
  if (oidc === undefined) {
    if (oidcClient === undefined && oidcRole === undefined && oidcDefault === undefined) return undefined;
    throw new Fault('usage', 'The other --oidc flags need --oidc ISSUER.');
  }
  if (oidcClient === undefined) throw new Fault('usage', '--oidc needs --oidc-client ID, as the provider knows it.');
  const secret = process.env['PROCTOR_OIDC_SECRET'];
  return {
    issuer: oidc,
    clientId: oidcClient,
    ...(secret !== undefined && secret !== '' && { clientSecret: secret }),
    roles: (oidcRole ?? []).map(parseRoleRule),
    standardRole: oidcDefault === 'none' ? undefined : (oidcDefault ?? 'user'),
  };
}
