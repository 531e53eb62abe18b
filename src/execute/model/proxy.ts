import { isIP } from 'node:net';
import { Fault } from '../../base/fault.ts';
import { urlSecrets } from '../../base/secret-parts.ts';

export interface Proxy {
  /** An http or https URL, with user and password. */
  readonly url: string;
  /** The parts of the URL that must be masked. */
  readonly secrets: readonly string[];
}

/** The proxy for an address. Loopback addresses never use one, because a proxy could not reach them. */
export function proxyFor(
  address: string,
  environment: Readonly<Record<string, string | undefined>>,
): Proxy | undefined {
  if (!URL.canParse(address)) return undefined;
  const target = new URL(address);
  const name = target.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const said = valueOf(name, environment);
  if (!said || isLoopback(target.hostname) || isExempt(target, valueOf('NO_PROXY', environment) ?? ''))
    return undefined;
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(said) ? said : `http://${said}`;
  const isAddress = URL.canParse(url) && /^https?:\/\//i.test(url);
  const secrets = isAddress ? secretsOf(url) : undefined;
  if (!secrets) throw new Fault('usage', `${name} must be a proxy URL that starts with http:// or https://.`);
  return { url, secrets };
}

/** Prefers the lower-case name, as most programs do. */
function valueOf(name: string, environment: Readonly<Record<string, string | undefined>>): string | undefined {
  return environment[name.toLowerCase()] || environment[name] || undefined;
}

function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  return (isIP(host) === 4 && host.startsWith('127.')) || host === '::1' || /(?:^|\.)localhost$/.test(host);
}

/** An entry exempts a name and its subdomains; a port restricts it; `*` exempts everything. */
function isExempt({ hostname, port, protocol }: URL, list: string): boolean {
  const host = hostname.toLowerCase();
  const at = port || (protocol === 'https:' ? '443' : '80');
  return list
    .split(/[,\s]+/, ENTRIES_MAX)
    .filter(entry => entry !== '')
    .some(entry => {
      if (entry === '*') return true;
      const [, name = '', wanted] = /^(.*?)(?::(\d{1,5}))?$/.exec(entry.toLowerCase()) ?? [];
      const bare = name.replace(/^\*?\./, '');
      return (wanted === undefined || wanted === at) && (host === bare || host.endsWith(`.${bare}`));
    });
}

const ENTRIES_MAX = 1_000;

/**
 * User and password are also masked in base64, which is how they are sent. Undefined if their percent-encoding is
 * invalid.
 */
function secretsOf(url: string): string[] | undefined {
  const { username, password } = new URL(url);
  if (password === '') return [];
  try {
    const pair = [username, password].map(part => decodeURIComponent(part)).join(':');
    return [...urlSecrets(url), pair, Buffer.from(pair).toString('base64')];
  } catch {
    return undefined;
  }
}
