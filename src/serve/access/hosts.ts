import { Fault } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';
import { type Incoming, SEVERAL, oneHeader, headersNamed } from './incoming.ts';

export interface HostSettings {
  /** The address that the server listens on, such as 127.0.0.1 or `::`. */
  readonly listen: string;
  readonly port: number;
  /** Names from `--host`, each with an optional port. */
  readonly names: readonly string[];
  /** A proxy in front ends TLS and sets X-Forwarded-Proto and X-Forwarded-Host. */
  readonly isBehindProxy: boolean;
}

/** Where a request was sent to, as the browser sees it. */
export interface Place {
  /** Such as `https://proctor.example`. */
  readonly origin: string;
  readonly isSecure: boolean;
}

/**
 * Checks the Host of a request against the names of this server. A page of another site can make its own name point
 * here (DNS rebinding), but its requests still carry that name.
 */
export function placeOfRequest(incoming: Incoming, settings: HostSettings): Place {
  if (!(incoming.url ?? '').startsWith('/')) throw wrongHost('The request target must be a path that starts with /.');
  const { host, scheme } = addressed(incoming, settings.isBehindProxy);
  if (settings.isBehindProxy && scheme !== 'https') {
    throw new Fault(
      'not_secure',
      'This server answers only over https. The proxy in front of it must set X-Forwarded-Proto: https.',
    );
  }
  const at = hostOf(host);
  if (at === undefined) throw wrongHost('The Host header is not a valid host.');
  const standardPort = scheme === 'https' ? 443 : 80;
  const port = at.port ?? standardPort;
  if (!isServed(at.name, port, settings)) {
    throw wrongHost('This server has another name. Its operator can add this name with --host NAME.');
  }
  return {
    origin: `${scheme}://${at.name}${port === standardPort ? '' : `:${port}`}`,
    isSecure: scheme === 'https',
  };
}

/** The host and scheme that the client used. Only a proxy of the operator is believed about them. */
function addressed(incoming: Incoming, isBehindProxy: boolean): { host: string; scheme: 'http' | 'https' } {
  const host = oneHeader(incoming, 'host');
  if (host === undefined || host === SEVERAL) throw wrongHost('The request must have exactly one Host header.');
  if (!isBehindProxy) return { host, scheme: 'http' };
  const outer = oneHeader(incoming, 'x-forwarded-host');
  if (outer === SEVERAL) throw wrongHost('The proxy must replace X-Forwarded-Host, not add to it.');
  const isSecure = oneHeader(incoming, 'x-forwarded-proto') === 'https';
  return { host: outer ?? host, scheme: isSecure ? 'https' : 'http' };
}

function wrongHost(sentence: string): Fault {
  return new Fault('wrong_host', sentence);
}

/** The address of the client: the proxy's last note behind a proxy, else the other end of the connection. */
export function clientAddress(incoming: Incoming, isBehindProxy: boolean): string {
  const notes = isBehindProxy ? headersNamed(incoming, 'x-forwarded-for') : [];
  const noted = withoutPort(notes.at(-1)?.split(',').at(-1)?.trim() ?? '');
  return network(ADDRESS.test(noted) ? noted : (incoming.socket.remoteAddress ?? 'unknown'));
}

/** Some proxies also note the port, which differs for each connection of a client. */
function withoutPort(noted: string): string {
  const [, v6, v4] = /^(?:\[([^\]]*)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/.exec(noted) ?? [];
  return v6 ?? v4 ?? noted;
}

/** Throws for a `--host` value that no browser would send. */
export function refuseBadNames(names: readonly string[]): void {
  for (const name of names) {
    if (hostOf(name) !== undefined) continue;
    throw new Fault(
      'usage',
      `--host ${printable(name)} is not a host. Use a name such as proctor.example or a name:port.`,
    );
  }
}

/** Whether only programs on this machine can reach an address. */
export function isLoopback(listen: string): boolean {
  return listen === 'localhost' || listen === '::1' || IPV4_LOOPBACK.test(listen);
}

const IPV4_LOOPBACK = /^127\.(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){2}(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)$/;
const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)$/;
const ADDRESS = /^[0-9A-Fa-f:.]{2,45}$/;

/** One household or machine usually has a whole /64 of IPv6, so limits count it as one. */
function network(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  if (!plain.includes(':')) return plain;
  const [head = '', tail] = plain.toLowerCase().split('::', 2);
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length);
  const groups = [...before, ...Array<string>(zeros).fill('0'), ...after];
  return `${groups.slice(0, 4).join(':')}::/64`;
}

interface Host {
  readonly name: string;
  readonly port: number | undefined;
}

/** A host in its one canonical form; undefined for any other spelling, such as `127.1` or a trailing dot. */
function hostOf(text: string): Host | undefined {
  const [, name = '', port] = HOST.exec(text.toLowerCase()) ?? [];
  if (name === '' || name.length > NAME_LENGTH_MAX) return undefined;
  const number = port === undefined ? undefined : Number(port);
  if (number !== undefined && (number < 1 || number > 65_535)) return undefined;
  if (name.startsWith('[')) {
    const canonical = canonicalV6(name);
    return canonical === undefined ? undefined : { name: canonical, port: number };
  }
  // A browser reads a last label of digits as an IPv4 address, in any of its spellings.
  if (/(?:^|\.)(?:\d+|0x[0-9a-f]*)$/.test(name) && !IPV4.test(name)) return undefined;
  return { name, port: number };
}

const LABEL = '[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?';
const HOST = new RegExp(String.raw`^(${LABEL}(?:\.${LABEL})*|\[[0-9a-f:.]{2,45}\])(?::([1-9]\d{0,4}))?$`);
const NAME_LENGTH_MAX = 253;

function canonicalV6(name: string): string | undefined {
  try {
    return new URL(`http://${name}`).hostname;
  } catch {
    return undefined;
  }
}

function isServed(name: string, port: number, settings: HostSettings): boolean {
  const { listen, names, isBehindProxy } = settings;
  const isNamed = names.some(text => {
    const host = hostOf(text);
    return host?.name === name && (host.port ?? (isBehindProxy ? 443 : settings.port)) === port;
  });
  if (isNamed) return true;
  if (isBehindProxy || port !== settings.port) return false;
  if (isLoopback(listen)) return name === 'localhost' || name === '127.0.0.1' || name === '[::1]' || name === listen;
  // A literal address needs no DNS, so it cannot be rebound.
  if (listen === '0.0.0.0' || listen === '::') return IPV4.test(name) || name.startsWith('[');
  return name === listen.toLowerCase() || name === canonicalV6(`[${listen}]`);
}
