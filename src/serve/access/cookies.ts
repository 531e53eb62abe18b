import { type Incoming, headersNamed } from './incoming.ts';

/**
 * The name of a cookie. Browsers share the cookies of a host between its ports, so the name of a plain server has its
 * port. Over TLS, `__Host-` keeps other hosts from setting it.
 */
export function cookieName(use: 'session' | 'login', { isSecure, port }: CookieScope): string {
  return isSecure ? `__Host-proctor_${use}` : `proctor_${use}_${port}`;
}

export interface CookieScope {
  readonly isSecure: boolean;
  readonly port: number;
}

/** The value of a cookie; undefined if there is none, or several, because another host may have set one of them. */
export function cookieIn(incoming: Incoming, name: string): string | undefined {
  const found: string[] = [];
  for (const header of headersNamed(incoming, 'cookie')) {
    for (const pair of header.split(';')) {
      const equals = pair.indexOf('=');
      if (equals >= 0 && pair.slice(0, equals).trim() === name) found.push(pair.slice(equals + 1).trim());
    }
  }
  return found.length === 1 ? found[0] : undefined;
}

/** The Set-Cookie line of a cookie; an age of 0 removes it. */
export function setCookie(name: string, value: string, ageS: number, { isSecure }: CookieScope): string {
  const secure = isSecure ? '; Secure' : '';
  return `${name}=${value}; Path=/; Max-Age=${ageS}; HttpOnly; SameSite=Lax${secure}`;
}
