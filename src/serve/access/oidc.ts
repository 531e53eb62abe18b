import { hash } from 'node:crypto';
import type * as openid from 'openid-client';
import { canonicalize } from '../../base/canonical.ts';
import type { Clock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import type { Person } from './identity.ts';
import { groupsOfClaims, type OidcRoleRule, roleOfClaims, verifiedEmail } from './oidc-roles.ts';
import type { ServerRole } from './roles.ts';
import { newSecretText, SECRET_TEXT, secretHash } from './token-text.ts';

export interface OidcSettings {
  /** The issuer, exactly as its tokens name it. */
  readonly issuer: string;
  readonly clientId: string;
  /** Undefined for a public client, which has only PKCE. */
  readonly clientSecret?: string | undefined;
  readonly roles: readonly OidcRoleRule[];
  /** The role of a person without any rule; undefined refuses such a person. */
  readonly standardRole: ServerRole | undefined;
  readonly scope?: string | undefined;
}

/** A sign-in that waits for the provider's answer. */
interface PendingLogin {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly redirectUri: string;
  readonly returnTo: string;
  readonly startedMs: number;
}

export const LOGIN_MS_MAX = 10 * 60_000;
const PENDING_MAX = 10_000;
const CONFIG_MS_MAX = 3_600_000;
const ANSWER_BYTES_MAX = 1024 * 1024;
const ANSWER_S_MAX = 10;

/** Signs people in at an OpenID Connect provider: authorization code with PKCE, state and nonce. */
export class Oidc {
  readonly #settings: OidcSettings;
  readonly #clock: Clock;
  readonly #pending = new Map<string, PendingLogin>();
  #config: { readonly value: openid.Configuration; readonly atMs: number } | undefined;

  constructor(settings: OidcSettings, clock: Clock) {
    refuseBadIssuer(settings.issuer);
    this.#settings = settings;
    this.#clock = clock;
  }

  /** Begins a sign-in. The browser keeps `secret` in a cookie and goes to `address`. */
  async begin(origin: string, returnTo: string): Promise<{ readonly address: string; readonly secret: string }> {
    const [client, config] = await this.#client();
    const secret = newSecretText();
    const login: PendingLogin = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
      redirectUri: `${origin}${CALLBACK}`,
      returnTo: ownPath(returnTo, origin),
      startedMs: this.#clock.now(),
    };
    this.#forgetOld();
    this.#pending.set(secretHash(secret), login);
    const address = client.buildAuthorizationUrl(config, {
      redirect_uri: login.redirectUri,
      scope: this.#settings.scope ?? 'openid profile email',
      state: login.state,
      nonce: login.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(login.verifier),
      code_challenge_method: 'S256',
    });
    return { address: address.href, secret };
  }

  /**
   * Takes the sign-in that this browser began, if the provider answers it with a code. It works once. Any page can send
   * a browser here with another state, so that fails without ending the sign-in.
   */
  take(secret: string | undefined, query: string): PendingLogin {
    const sha256 = secret !== undefined && SECRET_TEXT.test(secret) ? secretHash(secret) : '';
    const login = this.#pending.get(sha256);
    if (!login || this.#clock.now() - login.startedMs >= LOGIN_MS_MAX)
      throw new Fault('login_failed', `This sign-in is unknown, too old or already used. ${AGAIN}`);
    const answer = new URLSearchParams(query);
    if (answer.get('state') !== login.state) throw invalidAnswer();
    this.#pending.delete(sha256);
    if (answer.has('error')) throw invalidAnswer();
    return login;
  }

  /** Ends a sign-in with the query that the provider sent the browser back with. */
  async finish(login: PendingLogin, query: string): Promise<{ readonly person: Person; readonly returnTo: string }> {
    const [client, config] = await this.#client();
    try {
      const tokens = await client.authorizationCodeGrant(config, new URL(`${login.redirectUri}${query}`), {
        expectedState: login.state,
        expectedNonce: login.nonce,
        pkceCodeVerifier: login.verifier,
        idTokenExpected: true,
      });
      const told = tokens.claims();
      if (!told) throw new Error('The provider sent no ID token.');
      const more = this.#needsMore(told, config)
        ? await client.fetchUserInfo(config, tokens.access_token, told.sub)
        : {};
      return { person: this.#personOf({ ...more, ...told }), returnTo: login.returnTo };
    } catch (cause) {
      if (cause instanceof Fault) throw cause;
      throw invalidAnswer(cause);
    }
  }

  /** Names the settings that decide about roles. A session begun under others ends. */
  get settingsId(): string {
    const { issuer, clientId, roles, standardRole } = this.#settings;
    return hash('sha256', canonicalize([issuer, clientId, roles, standardRole ?? null]), 'hex');
  }

  #personOf(claims: Readonly<Record<string, unknown>> & { readonly sub: string }): Person {
    const { issuer, roles, standardRole } = this.#settings;
    const role = roleOfClaims(claims, roles, standardRole);
    if (role === undefined)
      throw new Fault('no_role', 'You are signed in, but no role is set for you. Ask the operator for one.');
    const { name, preferred_username: username } = claims;
    const called = [verifiedEmail(claims), username, name, claims.sub].find(isName) ?? 'unnamed';
    // Subjects are unique only within their issuer.
    const id = `oidc:${hash('sha256', issuer, 'hex').slice(0, 8)}:${subjectText(claims.sub)}`;
    return { id, name: called, role, groups: groupsOfClaims(claims) };
  }

  /** Some providers put groups and addresses only into their answer to a further question. */
  #needsMore(claims: Readonly<Record<string, unknown>>, config: openid.Configuration): boolean {
    const { userinfo_endpoint: endpoint } = config.serverMetadata();
    if (endpoint === undefined) return false;
    // Published scripts may name groups, whatever the rules for roles are.
    const needsEmail = this.#settings.roles.some(({ claim }) => claim !== 'group');
    return claims['groups'] === undefined || (needsEmail && claims['email'] === undefined);
  }

  /** The oldest come first, because entries keep their order. */
  #forgetOld(): void {
    for (const [sha256, { startedMs }] of this.#pending) {
      if (this.#pending.size < PENDING_MAX && this.#clock.now() - startedMs < LOGIN_MS_MAX) return;
      this.#pending.delete(sha256);
    }
  }

  async #client(): Promise<[typeof openid, openid.Configuration]> {
    const client = await import('openid-client');
    const { issuer, clientId, clientSecret } = this.#settings;
    const known = this.#config;
    if (known && this.#clock.now() - known.atMs < CONFIG_MS_MAX) return [client, known.value];
    try {
      const value = await client.discovery(
        new URL(issuer),
        clientId,
        clientSecret === undefined ? { token_endpoint_auth_method: 'none' } : clientSecret,
        clientSecret === undefined ? client.None() : undefined,
        {
          [client.customFetch]: boundedFetch,
          timeout: ANSWER_S_MAX,
          // The signature of ID tokens is checked, although TLS already proves where they come from.
          execute: [client.enableNonRepudiationChecks, ...(isPlain(issuer) ? [client.allowInsecureRequests] : [])],
        },
      );
      this.#config = { value, atMs: this.#clock.now() };
      return [client, value];
    } catch (cause) {
      throw new Fault('oidc_unreachable', 'The sign-in provider did not answer as expected. Try again later.', {
        cause,
      });
    }
  }
}

const CALLBACK = '/login/callback';
const AGAIN = 'Sign in again.';

function invalidAnswer(cause?: unknown): Fault {
  return new Fault('login_failed', `The answer of the sign-in provider is not valid for this sign-in. ${AGAIN}`, {
    cause,
  });
}

/** A path of this server, for the way back after a sign-in; `/` for anything else. */
export function ownPath(text: string, origin: string): string {
  if (!/^\/(?![/\\])[\x21-\x7e]{0,1000}$/.test(text) || text.includes('\\')) return '/';
  const url = urlOf(text, origin);
  return url?.origin === origin && !url.pathname.startsWith('//') ? `${url.pathname}${url.search}${url.hash}` : '/';
}

function refuseBadIssuer(issuer: string): void {
  const url = urlOf(issuer);
  const isSafe = url?.protocol === 'https:' || isPlain(issuer);
  // An address of the settings document would switch off the check of the issuer.
  if (isSafe && !issuer.includes('/.well-known/') && url?.username === '' && url.search === '' && url.hash === '')
    return;
  throw new Fault('usage', '--oidc needs the https address of the issuer, such as https://login.example.');
}

function urlOf(text: string, base?: string): URL | undefined {
  return URL.canParse(text, base) ? new URL(text, base) : undefined;
}

/** Plain http is fine only for a provider on this machine. */
function isPlain(issuer: string): boolean {
  const url = urlOf(issuer);
  return url?.protocol === 'http:' && ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname);
}

/** Like fetch, but an answer larger than its limit is an error. */
async function boundedFetch(address: string, options: openid.CustomFetchOptions): Promise<Response> {
  const response = await fetch(address, options as RequestInit);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX) throw new Error('The answer of the provider exceeds 1 MiB.');
    chunks.push(chunk);
  }
  const { status, statusText, headers } = response;
  const hasBody = status !== 204 && status !== 205 && status !== 304;
  return new Response(hasBody ? Buffer.concat(chunks) : null, { status, statusText, headers });
}

function isName(text: unknown): text is string {
  return typeof text === 'string' && /^[^\p{C}\p{Zl}\p{Zp}]{1,100}$/u.test(text);
}

/** A subject is at most 255 ASCII characters. Any other gets a hash, so that it stays one line of safe text. */
function subjectText(sub: string): string {
  return /^[\x21-\x7e]{1,255}$/.test(sub) ? sub : hash('sha256', sub, 'hex');
}
