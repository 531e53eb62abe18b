import path from 'node:path';
import * as z from 'zod/mini';
import { type Clock, instantText, parseInstant } from '../../base/clock.ts';
import { filledText, instant, matching, record } from '../../contracts/shape.ts';
import { readProven, writeProven } from '../state/proven-file.ts';
import { isShaped } from '../state/shaped.ts';
import { holderOf, type Person, YOU } from './identity.ts';
import { SERVER_ROLES } from './roles.ts';
import { isSameHash, newSecretText, SECRET_TEXT, secretHash } from './token-text.ts';
import type { Tokens } from './tokens.ts';

/** How a session began. Later requests are judged by what is true then, not by what was true at the beginning. */
const beginShape = z.discriminatedUnion('by', [
  record({ by: z.literal('address') }),
  record({ by: z.literal('token'), token_id: filledText() }),
  record({
    by: z.literal('oidc'),
    id: filledText(),
    name: z.string(),
    role: z.enum(SERVER_ROLES),
    groups: z.optional(z.array(z.string())),
    /** The settings that gave the role. Under other settings, the session ends. */
    settings: filledText(),
  }),
]);

export type SessionBegin = z.infer<typeof beginShape>;

const sessionShape = record({
  sha256: matching(/^[0-9a-f]{64}$/, '64 hexadecimal digits'),
  begin: beginShape,
  created_at: instant(),
  seen_at: instant(),
});

const fileShape = record({ schema_version: z.literal('server-sessions.v0'), sessions: z.array(sessionShape) });

type StoredSession = z.infer<typeof sessionShape>;

/** In memory, times are numbers. */
interface Session {
  readonly begin: SessionBegin;
  readonly createdMs: number;
  seenMs: number;
  /** What the file says about `seenMs`. */
  savedMs: number;
}

const SESSION_IDLE_MS = 12 * 3_600_000;
export const SESSION_MS_MAX = 7 * 86_400_000;
/** The provider may have taken a group away since. */
const OIDC_SESSION_MS_MAX = 86_400_000;
const SESSIONS_MAX = 10_000;
/** Of one identity: its browsers and devices. The one unused for longest ends first. */
const SESSIONS_EACH_MAX = 20;
const SAVED_AFTER_MS = 10 * 60_000;
const FILE_BYTES_MAX = 64 * 1024 * 1024;

export interface SessionRules {
  /** Whether the person on loopback may use this server. */
  readonly hasPerson: boolean;
  readonly tokens: Tokens;
  /** Names the OpenID Connect settings in force; undefined without any. */
  readonly oidcSettings: string | undefined;
}

/** Browser sessions: random ids of 256 bits, kept as hashes, also in a file, so that a new server still knows them. */
export class Sessions {
  readonly #file: string;
  readonly #clock: Clock;
  readonly #rules: SessionRules;
  readonly #sessions: Map<string, Session>;

  constructor(folder: string, clock: Clock, rules: SessionRules) {
    this.#file = path.join(folder, 'sessions.json');
    this.#clock = clock;
    this.#rules = rules;
    this.#sessions = new Map(readSessions(this.#file).map(session => [session.sha256, inMemory(session)]));
    this.#dropEnded();
  }

  /** Begins a session and returns the secret for its cookie. */
  begin(begin: SessionBegin): string {
    const text = newSecretText();
    const nowMs = this.#clock.now();
    this.#dropEnded();
    this.#dropOldest(([, session]) => ownerOf(session.begin) === ownerOf(begin), SESSIONS_EACH_MAX - 1);
    this.#dropOldest(() => true, SESSIONS_MAX - 1);
    this.#sessions.set(secretHash(text), { begin, createdMs: nowMs, seenMs: nowMs, savedMs: nowMs });
    this.save();
    return text;
  }

  /** The person that a cookie stands for; undefined if its session is unknown or has ended. */
  find(text: string): Person | undefined {
    if (!SECRET_TEXT.test(text)) return undefined;
    const sha256 = secretHash(text);
    const session = this.#sessions.get(sha256);
    if (!session) return undefined;
    const person = this.#personOf(session);
    if (!person) {
      this.#sessions.delete(sha256);
      return undefined;
    }
    session.seenMs = this.#clock.now();
    if (session.seenMs - session.savedMs > SAVED_AFTER_MS) this.saveUse();
    return person;
  }

  /** Ends a session. */
  end(text: string): void {
    if (this.#sessions.delete(secretHash(text))) this.save();
  }

  /** Writes all sessions. Throws a fault if that fails, because a session that ended must not come back. */
  save(): void {
    const stored = [...this.#sessions].map(([sha256, session]) => ({
      sha256,
      begin: session.begin,
      created_at: instantText(session.createdMs),
      seen_at: instantText(session.seenMs),
    }));
    writeProven(this.#file, { schema_version: 'server-sessions.v0', sessions: stored });
    for (const session of this.#sessions.values()) session.savedMs = session.seenMs;
  }

  /** Writes the times of the last use, if the disk allows it. */
  saveUse(): void {
    try {
      this.save();
    } catch {
      // After a restart, a session may end earlier.
    }
  }

  #personOf({ begin, createdMs, seenMs }: Session): Person | undefined {
    const nowMs = this.#clock.now();
    const ageMsMax = begin.by === 'oidc' ? OIDC_SESSION_MS_MAX : SESSION_MS_MAX;
    if (nowMs - createdMs >= ageMsMax || nowMs - seenMs >= SESSION_IDLE_MS) return undefined;
    const { hasPerson, tokens, oidcSettings } = this.#rules;
    if (begin.by === 'address') return hasPerson ? YOU : undefined;
    if (begin.by === 'oidc') {
      const { id, name, role, groups = [], settings } = begin;
      return settings === oidcSettings ? { id, name, role, groups } : undefined;
    }
    const token = tokens.active(begin.token_id);
    return token && holderOf(token);
  }

  /** While the token file is unreadable, sessions of tokens do not work, but they stay. */
  #hasEnded(session: Session): boolean {
    try {
      return this.#personOf(session) === undefined;
    } catch {
      return false;
    }
  }

  #dropEnded(): void {
    for (const [sha256, session] of this.#sessions) if (this.#hasEnded(session)) this.#sessions.delete(sha256);
  }

  #dropOldest(isOne: (entry: readonly [string, Session]) => boolean, kept: number): void {
    const some = [...this.#sessions].filter(isOne).sort(([, a], [, b]) => b.seenMs - a.seenMs);
    for (const [sha256] of some.slice(kept)) this.#sessions.delete(sha256);
  }
}

/** The secret in the printed address. It works until the server stops; the person may open several browsers with it. */
export class AddressSecret {
  readonly text = newSecretText();
  readonly #sha256 = secretHash(this.text);

  matches(text: string): boolean {
    return text.length === this.text.length && isSameHash(secretHash(text), this.#sha256);
  }
}

function ownerOf(begin: SessionBegin): string {
  if (begin.by === 'address') return 'you';
  return begin.by === 'token' ? `token:${begin.token_id}` : begin.id;
}

function inMemory({ begin, created_at: created, seen_at: seen }: StoredSession): Session {
  const seenMs = parseInstant(seen) ?? 0;
  return { begin, createdMs: parseInstant(created) ?? 0, seenMs, savedMs: seenMs };
}

/** A file from another version or of another origin only costs a new sign-in, so it is set aside by the next write. */
function readSessions(file: string): readonly StoredSession[] {
  const value = provenOrNothing(file);
  return isShaped(value, fileShape) ? (value as z.infer<typeof fileShape>).sessions : [];
}

function provenOrNothing(file: string): unknown {
  try {
    return readProven(file, FILE_BYTES_MAX);
  } catch {
    return undefined;
  }
}
