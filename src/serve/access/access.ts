import { type Clock, systemClock } from '../../base/clock.ts';
import { serverFolder } from '../state/server-folder.ts';
import { Audit } from './audit.ts';
import { type CookieScope, cookieIn, cookieName, setCookie } from './cookies.ts';
import { foreignPageRefusal, type Proof } from './csrf.ts';
import { clientAddress, type Place, placeOfRequest } from './hosts.ts';
import { type Identity, PERSON, tokenIdentity } from './identity.ts';
import { type AccessRefusal, type Incoming, TWICE, valueOf } from './incoming.ts';
import { RateLimits, RATES } from './limits.ts';
import { type AccessSettings, isForOnePerson, refuseUnsafe } from './listening.ts';
import { LOGIN_MS_MAX, Oidc } from './oidc.ts';
import { allows, type Role } from './roles.ts';
import { AddressSecret, SESSION_MS_MAX, Sessions } from './sessions.ts';
import { Tokens } from './tokens.ts';

/** A request that came to a name of this server, and who sent it. */
export interface Visitor {
  readonly incoming: Incoming;
  readonly place: Place;
  readonly address: string;
  /** Undefined if the request has no proof of identity. */
  readonly identity: Identity | undefined;
  readonly proof: Proof;
}

export interface SignedIn {
  readonly identity: Identity;
  /** The Set-Cookie lines of the answer. */
  readonly cookies: readonly string[];
  /** Where a browser goes next. */
  readonly returnTo: string;
}

/**
 * Opens the access rules of a server. Throws a fault for settings that would let strangers in, so call it before the
 * port opens.
 */
export function openAccess(home: string, settings: AccessSettings, clock: Clock = systemClock): Access {
  const folder = serverFolder(home);
  const tokens = new Tokens(folder, clock);
  refuseUnsafe(settings, tokens.hasActive());
  return new Access(folder, settings, tokens, clock);
}

/** Decides who may do what. Each step returns a refusal or what the next step needs. */
export class Access {
  readonly tokens: Tokens;
  readonly audit: Audit;
  readonly #settings: AccessSettings;
  readonly #sessions: Sessions;
  readonly #limits: RateLimits;
  readonly #secret: AddressSecret | undefined;
  readonly #oidc: Oidc | undefined;
  #port: number;

  constructor(folder: string, settings: AccessSettings, tokens: Tokens, clock: Clock) {
    this.#settings = settings;
    this.#port = settings.port;
    this.tokens = tokens;
    this.#oidc = settings.oidc && new Oidc(settings.oidc, clock);
    const hasPerson = isForOnePerson(settings);
    this.#secret = hasPerson ? new AddressSecret() : undefined;
    this.#sessions = new Sessions(folder, clock, { hasPerson, tokens, oidcSettings: this.#oidc?.settingsId });
    this.#limits = new RateLimits(settings.rates ?? RATES);
    this.audit = new Audit(folder, clock);
  }

  /** Tells the port that the system chose, if the settings say 0. */
  listensOn(port: number): void {
    this.#port = port;
  }

  /** The address to print. For one person it has the secret, in the part that browsers never send. */
  get address(): string {
    const { listen, hosts, isBehindProxy } = this.#settings;
    if (isBehindProxy) return `https://${hosts[0]}/`;
    const host = listen.includes(':') ? `[${listen}]` : listen;
    return `http://${host}:${this.#port}/${this.#secret ? `#secret=${this.#secret.text}` : ''}`;
  }

  /** Whether people sign in at a provider. */
  get hasOidc(): boolean {
    return this.#oidc !== undefined;
  }

  /** Checks the host, the rate limits and the proof of identity. A wrong proof is refused; a missing one is not. */
  async admit(incoming: Incoming): Promise<Visitor | AccessRefusal> {
    const { listen, hosts, isBehindProxy } = this.#settings;
    const place = placeOfRequest(incoming, { listen, port: this.#port, names: hosts, isBehindProxy });
    if ('status' in place) return place;
    const address = clientAddress(incoming, isBehindProxy);
    const header = valueOf(incoming, 'authorization');
    const visitor = { incoming, place, address };
    if (header !== undefined) {
      const blockedS = await this.#limits.blockedFor(address);
      if (blockedS > 0) return tooMany(blockedS);
      const token = header === TWICE ? undefined : this.tokens.find(bearer(header));
      if (!token) {
        await this.#limits.failure(address);
        return BAD_TOKEN;
      }
      return this.#counted({ ...visitor, identity: tokenIdentity(token), proof: 'header' });
    }
    const cookie = cookieIn(incoming, cookieName('session', this.#scope(place)));
    const identity = cookie === undefined ? undefined : this.#sessions.find(cookie);
    // The cookie of an ended session proves nothing; its browser must sign in again.
    return this.#counted({ ...visitor, identity, proof: identity ? 'cookie' : 'none' });
  }

  /** Whether a visitor may use a route: its role, and for browsers, the page that sent the request. */
  refusalOf(visitor: Visitor, need: Role | 'anyone'): AccessRefusal | undefined {
    const { incoming, identity, proof, place } = visitor;
    if (need !== 'anyone') {
      if (!identity) return NO_IDENTITY;
      if (!allows(identity.role, need)) return lowRole(need);
    }
    return foreignPageRefusal(incoming, proof, place.origin);
  }

  /** Exchanges the secret of the printed address, or a token, for a session cookie. */
  async signIn(
    { place, address }: Visitor,
    proof: { readonly secret: string } | { readonly token: string },
  ): Promise<SignedIn | AccessRefusal> {
    const blockedS = await this.#limits.blockedFor(address);
    if (blockedS > 0) return tooMany(blockedS);
    if ('secret' in proof && this.#secret?.matches(proof.secret)) {
      return this.#signedIn(PERSON, this.#sessions.begin({ by: 'person' }), place, '/');
    }
    const token = 'token' in proof ? this.tokens.find(proof.token) : undefined;
    // A worker has no pages to look at.
    if (!token || token.role === 'worker') {
      await this.#limits.failure(address);
      return 'token' in proof ? BAD_TOKEN : BAD_SECRET;
    }
    return this.#signedIn(tokenIdentity(token), this.#sessions.begin({ by: 'token', token_id: token.id }), place, '/');
  }

  /** Ends the session of a visitor and returns the Set-Cookie line that removes its cookie. */
  signOut({ incoming, place }: Visitor): string {
    const name = cookieName('session', this.#scope(place));
    const cookie = cookieIn(incoming, name);
    if (cookie !== undefined) this.#sessions.end(cookie);
    return setCookie(name, '', 0, this.#scope(place));
  }

  /** Begins a sign-in at the provider: where the browser goes, and the cookie that it takes along. */
  async beginLogin(
    { place }: Visitor,
    returnTo: string,
  ): Promise<{ readonly address: string; readonly cookies: readonly string[] } | AccessRefusal> {
    if (!this.#oidc) return NO_OIDC;
    const { address, secret } = await this.#oidc.begin(place.origin, returnTo);
    const scope = this.#scope(place);
    return { address, cookies: [setCookie(cookieName('login', scope), secret, LOGIN_MS_MAX / 1_000, scope)] };
  }

  /** Ends it, with the query of the provider's answer. Throws a fault if the answer is not valid. */
  async finishLogin({ incoming, place, address }: Visitor, query: string): Promise<SignedIn | AccessRefusal> {
    if (!this.#oidc) return NO_OIDC;
    const blockedS = await this.#limits.blockedFor(address);
    if (blockedS > 0) return tooMany(blockedS);
    const scope = this.#scope(place);
    const name = cookieName('login', scope);
    try {
      const { identity, returnTo } = await this.#oidc.finish(cookieIn(incoming, name), query);
      const begin = { by: 'oidc' as const, ...identity, settings: this.#oidc.settingsId };
      const signed = this.#signedIn(identity, this.#sessions.begin(begin), place, returnTo);
      return { ...signed, cookies: [...signed.cookies, setCookie(name, '', 0, scope)] };
    } catch (error) {
      await this.#limits.failure(address);
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.tokens.saveUse();
    this.#sessions.save();
    this.audit.close();
  }

  async #counted(visitor: Visitor): Promise<Visitor | AccessRefusal> {
    const { identity, address } = visitor;
    const waitS = await (identity ? this.#limits.request(identity.id) : this.#limits.anonymous(address));
    return waitS > 0 ? tooMany(waitS) : visitor;
  }

  #signedIn(identity: Identity, secret: string, place: Place, returnTo: string): SignedIn {
    const scope = this.#scope(place);
    const cookie = setCookie(cookieName('session', scope), secret, SESSION_MS_MAX / 1_000, scope);
    return { identity, cookies: [cookie], returnTo };
  }

  #scope({ isSecure }: Place): CookieScope {
    return { isSecure, port: this.#port };
  }
}

/** The token in an Authorization header; empty for any other scheme. */
function bearer(header: string): string {
  return /^bearer (\S+)$/i.exec(header)?.[1] ?? '';
}

const NO_IDENTITY: AccessRefusal = {
  status: 401,
  code: 'not_signed_in',
  message: 'Sign in first, or send a token as Authorization: Bearer.',
};
const BAD_TOKEN: AccessRefusal = {
  status: 401,
  code: 'bad_token',
  message: 'This token is not valid. It may be mistyped, expired or revoked.',
};
const BAD_SECRET: AccessRefusal = {
  status: 401,
  code: 'bad_secret',
  message: 'The secret in this address is not valid. Use the address that the running server printed.',
};
const NO_OIDC: AccessRefusal = {
  status: 403,
  code: 'no_oidc',
  message: 'This server has no sign-in provider. Use a token, or the address that the server printed.',
};

function lowRole(need: Role): AccessRefusal {
  return { status: 403, code: 'role_too_low', message: `This needs the role ${need}.` };
}

function tooMany(retryAfterS: number): AccessRefusal {
  const unit = retryAfterS === 1 ? 'second' : 'seconds';
  return {
    status: 429,
    code: 'too_many_requests',
    message: `Too many requests. Try again in ${retryAfterS} ${unit}.`,
    retryAfterS,
  };
}
