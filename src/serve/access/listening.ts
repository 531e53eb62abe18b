import { Fault } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';
import { isLoopback, refuseBadNames } from './hosts.ts';
import type { OidcSettings } from './oidc.ts';
import type { RateSettings } from './limits.ts';

/** Who may reach the server, and how they prove who they are. */
export interface AccessSettings {
  /** The address to listen on, such as 127.0.0.1. */
  readonly listen: string;
  readonly port: number;
  /** Further names of this server, from `--host`. */
  readonly hosts: readonly string[];
  /** `--tls-behind-proxy`. */
  readonly isBehindProxy: boolean;
  readonly oidc?: OidcSettings | undefined;
  readonly rates?: RateSettings | undefined;
  /** How often an open stream checks that its client may still see it, in milliseconds. */
  readonly recheckMs?: number | undefined;
}

/** Whether the server is for one person on this machine, who signs in with the secret of the printed address. */
export function isForOnePerson({ listen, isBehindProxy, oidc }: AccessSettings): boolean {
  return isLoopback(listen) && !isBehindProxy && oidc === undefined;
}

/** Throws a fault for settings that would let strangers in. Call it before the port opens. */
export function refuseUnsafe(settings: AccessSettings, hasTokens: boolean): void {
  const { listen, hosts, isBehindProxy, oidc } = settings;
  refuseBadNames(hosts);
  const isLocal = isLoopback(listen);
  if (!hasTokens && oidc === undefined && !(isLocal && !isBehindProxy)) {
    const where = isLocal ? 'Listening behind a proxy' : `Listening on ${printable(listen)}`;
    throw new Fault(
      'unsafe_listen',
      `${where} needs tokens or --oidc, because others can reach it. Create a token with proctor token new, or add --oidc ISSUER.`,
    );
  }
  if (!isLocal && !isBehindProxy) {
    throw new Fault(
      'unsafe_listen',
      `Listening on ${printable(listen)} without TLS would show tokens to the network. Put a proxy with TLS in front and add --tls-behind-proxy.`,
    );
  }
  if (isBehindProxy && hosts.length === 0) {
    throw new Fault(
      'unsafe_listen',
      '--tls-behind-proxy needs --host NAME, the name that browsers use, such as proctor.example.',
    );
  }
}
