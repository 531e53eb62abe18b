import { type Clock, systemClock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { BusyFault } from '../operation/busy-fault.ts';
import { holdServer } from '../../verbs/server-home.ts';
import { serverFolder } from '../state/server-folder.ts';
import { Audit } from './audit.ts';
import { type CookieScope, cookieIn, cookieName, setCookie } from './cookies.ts';
import { isRead, refuseForeignPage } from './csrf.ts';
import { clientAddress, type Place, placeOfRequest } from './hosts.ts';
import { holderOf, type Identity, type Person, YOU } from './identity.ts';
import { type Incoming, SEVERAL, oneHeader } from './incoming.ts';
import { RateLimits, RATES } from './limits.ts';
import { type AccessSettings, isForOnePerson, refuseUnsafe } from './listening.ts';
import { LOGIN_MS_MAX, Oidc } from './oidc.ts';
import { RefusalNotes } from './refusal-notes.ts';
import { allows, type ServerRole } from './roles.ts';
import { AddressSecret, SESSION_MS_MAX, type SessionBegin, Sessions } from './sessions.ts';
import { Tokens } from './tokens.ts';

/** Throws a fault for settings that would let strangers in, so call it before the port opens. */
export function openAccess(home: string, settings: AccessSettings, clock: Clock = systemClock): Access {
  const folder = serverFolder(home);
  const tokens = new Tokens(folder, clock);
  refuseUnsafe(settings, tokens.hasActive());
  const hold = holdServer(folder);
  try {
    return new Access(folder, settings, tokens, clock, hold);
  } catch (error) {
    hold.close();
    throw error;
  }
}

/** What is done, as the audit log names it. */
interface Act {
  readonly name: string;
  readonly role: ServerRole | 'anyone';
}

export interface SignedIn {
  readonly person: Person;
  /** The Set-Cookie lines of the answer. */
  readonly cookies: readonly string[];
  /** Where a browser goes next. */
  readonly returnTo: string;
}

/** The guards of the server, in the order in which they are asked. Each throws a fault that says why it refuses. */
export class Access {
  readonly tokens: Tokens;
  readonly audit: Audit;
  readonly #settings: AccessSettings;
  readonly #sessions: Sessions;
  readonly #limits: RateLimits;
  readonly #secret: AddressSecret | undefined;
  readonly #oidc: Oidc | undefined;
  readonly #refusals: RefusalNotes;
  readonly #hold: ReturnType<typeof holdServer>;
  #port: number;

  constructor(
    folder: string,
    settings: AccessSettings,
    tokens: Tokens,
    clock: Clock,
    hold: ReturnType<typeof holdServer>,
  ) {
    this.#hold = hold;
    this.#settings = settings;
    this.#port = settings.port;
    this.tokens = tokens;
    this.#oidc = settings.oidc && new Oidc(settings.oidc, clock);
    const hasPerson = isForOnePerson(settings);
    this.#secret = hasPerson ? new AddressSecret() : undefined;
    this.#sessions = new Sessions(folder, clock, { hasPerson, tokens, oidcSettings: this.#oidc?.settingsId });
    this.#limits = new RateLimits(settings.rates ?? RATES);
    this.audit = new Audit(folder, clock);
    this.#refusals = new RefusalNotes(this.audit);
  }

  /** Sets the port that the system chose, if the settings say 0. */
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

  /** How people can sign in besides a token: at a provider, or with the secret of the printed address. */
  get signInWays(): { readonly provider: boolean; readonly address: boolean } {
    return { provider: this.#oidc !== undefined, address: this.#secret !== undefined };
  }

  /** Refuses a Host that is not this server's, so that another site's name cannot lead here. */
  checkHost(incoming: Incoming): Place | undefined {
    // Probes come from the machine itself, not through the proxy, and learn nothing but a state.
    return isRead(incoming) && PROBES.has(incoming.url ?? '') ? undefined : this.#place(incoming);
  }

  /** Finds out who asks; undefined for a client that has not signed in. Refuses wrong, expired and revoked tokens. */
  async identify(incoming: Incoming): Promise<Identity | undefined> {
    const header = oneHeader(incoming, 'authorization');
    if (header !== undefined) return { ...(await this.#bearer(header, incoming)), via: 'token' };
    const cookie = cookieIn(incoming, cookieName('session', this.#scope));
    const person = cookie === undefined ? undefined : this.#sessions.find(cookie);
    return person && { ...person, via: 'session' };
  }

  /** Refuses a client that asks too often. */
  async checkRate(who: Identity | undefined, incoming: Incoming): Promise<void> {
    const waitS = await (who
      ? this.#limits.request(who.id, who.role === 'worker', who.quotas?.rate)
      : this.#limits.anonymous(this.#client(incoming)));
    if (waitS > 0) throw tooMany(waitS, who?.quotas?.rate);
  }

  /** Refuses a request that another site made a browser send. */
  checkOrigin(incoming: Incoming, who: Identity | undefined, place: Place | undefined): void {
    if (who !== undefined || !isRead(incoming)) refuseForeignPage(incoming, who?.via ?? 'none', place?.origin);
  }

  /**
   * For an answer that stays open: calls `end` when the client may no longer use the route, for example because its
   * token was revoked. Returns a function that stops looking.
   */
  watch(incoming: Incoming, need: ServerRole | 'anyone', end: () => void): () => void {
    if (need === 'anyone') return () => undefined;
    const look = async (): Promise<void> => {
      const who = await this.identify(incoming).catch(() => undefined);
      if (who && allows(who.role, need)) return;
      clearInterval(timer);
      end();
    };
    const timer = setInterval(() => void look(), this.#settings.recheckMs ?? RECHECK_MS).unref();
    return () => clearInterval(timer);
  }

  /** Notes an act before it happens, because an act that cannot be noted must not happen. */
  beginAct(act: Act, who: Person | undefined, thing: string, correlationId: string): ReturnType<Audit['begin']> {
    return this.audit.begin({ who: who ?? null, verb: act.name, thing, correlationId });
  }

  /** Notes that a client tried what it may not do. Other refusals are in the log and in the metrics. */
  noteRefusal(act: Act, who: Person | undefined, code: string, thing: string, correlationId: string): void {
    if (!NOTED_REFUSALS.has(code)) return;
    try {
      this.#refusals.note({ who: who ?? null, verb: act.name, thing, correlationId }, code);
    } catch (error) {
      // Nothing was done, so the client still gets the refusal.
      if (!(error instanceof Fault)) throw error;
    }
  }

  /** Exchanges the secret of the printed address, or a token, for a session cookie. */
  async signIn(
    incoming: Incoming,
    proof: { readonly secret?: string | undefined; readonly token?: string | undefined },
    correlationId: string,
  ): Promise<SignedIn> {
    if (proof.secret === undefined) {
      const holder = await this.#bearer(`Bearer ${proof.token ?? ''}`, incoming, { isForPages: true });
      return this.#signedIn(
        holder,
        { by: 'token', token_id: holder.id.replace(/^token:/, '') },
        incoming,
        correlationId,
      );
    }
    await this.#refuseBlocked(incoming);
    if (this.#secret?.matches(proof.secret)) return this.#signedIn(YOU, { by: 'address' }, incoming, correlationId);
    await this.#limits.failure(this.#client(incoming));
    throw new Fault(
      'bad_secret',
      'The secret in this address is not valid. Use the address that the running server printed.',
    );
  }

  /** Ends the session of a browser. Returns the Set-Cookie line that removes its cookie. */
  signOut(incoming: Incoming): string {
    const scope = this.#scope;
    const name = cookieName('session', scope);
    const cookie = cookieIn(incoming, name);
    if (cookie !== undefined) this.#sessions.end(cookie);
    return setCookie(name, '', 0, scope);
  }

  /** Begins a sign-in at the provider: where the browser goes, and the cookie that it takes along. */
  async beginLogin(
    incoming: Incoming,
    returnTo: string,
  ): Promise<{ readonly address: string; readonly cookies: readonly string[] }> {
    if (!this.#oidc) throw noOidc();
    const { address, secret } = await this.#oidc.begin(this.#place(incoming).origin, returnTo);
    const scope = this.#scope;
    return { address, cookies: [setCookie(cookieName('login', scope), secret, LOGIN_MS_MAX / 1_000, scope)] };
  }

  /** Ends it, with the query of the provider's answer. */
  async finishLogin(incoming: Incoming, query: string, correlationId: string): Promise<SignedIn> {
    if (!this.#oidc) throw noOidc();
    await this.#refuseBlocked(incoming);
    const scope = this.#scope;
    const name = cookieName('login', scope);
    const login = this.#oidc.take(cookieIn(incoming, name), query);
    try {
      const { person, returnTo } = await this.#oidc.finish(login, query);
      const { groups = [], ...rest } = person;
      const begin = { by: 'oidc' as const, ...rest, groups: [...groups], settings: this.#oidc.settingsId };
      const signed = this.#signedIn(person, begin, incoming, correlationId);
      return { ...signed, cookies: [...signed.cookies, setCookie(name, '', 0, scope)], returnTo };
    } catch (error) {
      // Only a code that does not prove a person is a guess. A person without a role is not, nor a provider that cannot be found.
      if (error instanceof Fault && error.code === 'login_failed') await this.#limits.failure(this.#client(incoming));
      throw error;
    }
  }

  /** Writes what is not yet on disk, and lets another server begin. */
  async close(): Promise<void> {
    // Only days and times of the last use can be lost, so a full disk does not keep the server from stopping.
    await this.tokens.saveUse().catch(() => undefined);
    this.#sessions.saveUse();
    this.#refusals.close();
    this.audit.close();
    this.#hold.close();
  }

  /** The holder of a token, or of the secret of the printed address. */
  async #bearer(header: string | typeof SEVERAL, incoming: Incoming, { isForPages = false } = {}): Promise<Person> {
    await this.#refuseBlocked(incoming);
    const [, text = ''] = header === SEVERAL ? [] : (/^bearer (\S{1,200})$/i.exec(header) ?? []);
    if (!isForPages && this.#secret?.matches(text)) return YOU;
    const token = this.tokens.find(text);
    // A worker has no pages to look at.
    if (token && !(isForPages && token.role === 'worker')) return holderOf(token);
    await this.#limits.failure(this.#client(incoming));
    throw new Fault('bad_token', 'This token is not valid. It may be mistyped, expired or revoked.');
  }

  #signedIn(person: Person, begin: SessionBegin, incoming: Incoming, correlationId: string): SignedIn {
    this.audit.note({ who: person, verb: 'signIn', thing: begin.by, correlationId }, 'done');
    const scope = this.#scope;
    const cookie = setCookie(cookieName('session', scope), this.#sessions.begin(begin), SESSION_MS_MAX / 1_000, scope);
    return { person, cookies: [cookie], returnTo: '/' };
  }

  /** Too many failures: proofs from this address are not even looked at. */
  async #refuseBlocked(incoming: Incoming): Promise<void> {
    if (!this.#limits.hasFailures) return;
    const waitS = await this.#limits.blockedFor(this.#client(incoming));
    if (waitS > 0) throw tooMany(waitS);
  }

  #place(incoming: Incoming): Place {
    const { listen, hosts, isBehindProxy } = this.#settings;
    return placeOfRequest(incoming, { listen, port: this.#port, names: hosts, isBehindProxy });
  }

  #client(incoming: Incoming): string {
    return clientAddress(incoming, this.#settings.isBehindProxy);
  }

  get #scope(): CookieScope {
    return { isSecure: this.#settings.isBehindProxy, port: this.#port };
  }
}

const RECHECK_MS = 60_000;

const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz']);

const NOTED_REFUSALS: ReadonlySet<string> = new Set([
  'role_too_low',
  'wrong_host',
  'wrong_origin',
  'bad_token',
  'bad_secret',
  'login_failed',
  'no_role',
  'not_your_claim',
]);

function noOidc(): Fault {
  return new Fault(
    'no_oidc',
    'This server has no sign-in provider. Use a token, or the address that the server printed.',
  );
}

function tooMany(retryAfterS: number, rate?: number): BusyFault {
  const unit = retryAfterS === 1 ? 'second' : 'seconds';
  const why = rate === undefined ? 'Too many requests.' : `The quota of this token is ${rate} requests per minute.`;
  return new BusyFault('too_many_requests', `${why} Try again in ${retryAfterS} ${unit}.`, retryAfterS);
}
