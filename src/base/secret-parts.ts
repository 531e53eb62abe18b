import { MASK } from './credential-bytes.ts';

/** The secrets in a header: its value, and each part that is a credential by itself. */
export function headerSecrets(name: string, value: string): string[] {
  const parts = new Set([value.trim()]);
  const passwords: string[] = [];
  const [scheme = '', ...rest] = value.trim().split(/\s+/);
  const last = rest.at(-1);
  if (last !== undefined) parts.add(last).add(rest.join(' '));
  if (/^basic$/i.test(scheme) && last !== undefined) {
    const decoded = Buffer.from(last, 'base64').toString();
    const colon = decoded.indexOf(':');
    parts.add(decoded);
    if (colon >= 0) passwords.push(decoded.slice(colon + 1));
  }
  // In cookies and in schemes with parameters, such as Digest, the value after each `=`.
  if (/cookie/i.test(name) || /=/.test(value)) {
    for (const pair of value.split(/[;,\s]+/)) {
      const sign = pair.indexOf('=');
      if (sign > 0) parts.add(pair.slice(sign + 1).replace(/^"|"$/g, ''));
    }
  }
  return [
    ...[...parts].filter(part => part.length >= PART_MIN || part === value.trim()),
    ...passwords.filter(password => password.length >= TELLING_MIN),
  ];
}

/** Secrets, and the parts of those that are the value of a header, such as `Basic …`. */
export function withParts(secrets: readonly string[]): string[] {
  return [...secrets, ...secrets.flatMap(secret => headerSecrets('authorization', secret))];
}

/** The secrets in a URL: its user, its password and its query values, both raw and decoded. */
export function urlSecrets(address: string): string[] {
  const { username, password, search } = new URL(address);
  const values = pairsOf(search).flatMap(({ name, value }) => {
    const least = TELLING.test(name) ? TELLING_MIN : VALUE_MIN;
    return value.length >= least ? [value] : [];
  });
  const parts = [username.length >= VALUE_MIN ? username : '', password, ...values];
  return [...new Set(parts.flatMap(part => [part, decoded(part)]))].filter(part => part.length >= TELLING_MIN);
}

/** A URL that is safe to store: without user and password, and with masked query values. */
export function storedUrl(address: string): string {
  const url = new URL(address);
  const search = pairsOf(url.search).map(({ name, value }) =>
    name === '' ? MASK : value === '' ? `${name}=` : `${name}=${MASK}`,
  );
  url.username = '';
  url.password = '';
  url.search = '';
  url.hash = '';
  return `${url.href.replace(/\/$/, '')}${search.length > 0 ? `?${search.join('&')}` : ''}`;
}

/** Masks the query values of URLs in a text, such as the header `location`. */
export function withoutQueryValues(text: string): string {
  return text.replace(/([?&;][^=&;#\s]{1,100}=)[^&;#\s"'<>]{1,4000}/g, `$1${MASK}`);
}

function pairsOf(search: string): { readonly name: string; readonly value: string }[] {
  return search
    .replace(/^\?/, '')
    .split('&')
    .filter(pair => pair !== '')
    .map(pair => {
      const sign = pair.indexOf('=');
      // A value without a name may be a secret.
      return sign < 0 ? { name: '', value: pair } : { name: pair.slice(0, sign), value: pair.slice(sign + 1) };
    });
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value.replaceAll('+', ' '));
  } catch {
    return value;
  }
}

/** Names of parameters whose values are secrets even if they are short. */
const TELLING = /token|key|secret|sig|auth|pass|pwd|code|session|credential|^$/i;
/** Shorter parts occur in any text. A value whose name marks it as a secret may be shorter. */
const PART_MIN = 6;
const TELLING_MIN = 4;
const VALUE_MIN = 8;
