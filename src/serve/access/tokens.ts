import { lstatSync } from 'node:fs';
import path from 'node:path';
import * as z from 'zod/mini';
import { defined } from '../../base/defined.ts';
import { type Clock, instantText, parseInstant } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { newCorrelationId } from '../../base/ids.ts';
import { formOf } from '../../contracts/form.ts';
import { GROUP_NAME } from '../../contracts/published-script/index.ts';
import { count, instant, matching, record } from '../../contracts/shape.ts';
import { whileLocked } from '../../verbs/server-home.ts';
import { readProven, writeProven } from '../state/proven-file.ts';
import { isShaped } from '../state/shaped.ts';
import type { TokenQuotas } from './identity.ts';
import { SERVER_ROLES, type ServerRole } from './roles.ts';
import { isSameHash, isTokenText, newTokenText, secretHash } from './token-text.ts';

/** The groups of a token. */
export const tokenGroups = () =>
  z
    .array(matching(GROUP_NAME, 'the name of a group: letters, digits, ".", "_", ":", "@", "/" and "-"'))
    .check(z.maxLength(50));

/** The quotas of a token, each instead of a limit of the server. */
export const tokenQuotas = () =>
  record({ rate: z.optional(wholeUpTo(1_000_000)), waiting: z.optional(wholeUpTo(1_000)) });

const wholeUpTo = (max: number) => z.int().check(z.gte(1), z.lte(max));

/** What the server keeps of a token. The token itself is shown once and never stored. */
const tokenShape = record({
  id: matching(/^tok_[0-9a-f]{16}$/, 'tok_ and 16 hexadecimal digits'),
  name: matching(/^[^\p{C}\p{Zl}\p{Zp}]{1,100}$/u, '1 to 100 printable characters'),
  /** The first eight characters, to recognize a token by. */
  prefix: matching(/^pt_[0-9A-Za-z]{5}$/, 'the first eight characters of a token'),
  role: z.enum(SERVER_ROLES),
  /** What `who` in script.yaml can name. */
  groups: z.optional(tokenGroups()),
  quotas: z.optional(tokenQuotas()),
  sha256: matching(/^[0-9a-f]{64}$/, '64 hexadecimal digits'),
  created_at: instant(),
  expires_at: instant(),
  revoked_at: z.nullable(instant()),
  /** The day in UTC. A later use on the same day changes nothing. */
  last_used_on: z.nullable(matching(/^\d{4}-\d\d-\d\d$/, 'a day')),
});

export type StoredToken = z.infer<typeof tokenShape>;

/** A token without its hash, for lists. */
export type TokenRow = Omit<StoredToken, 'sha256' | 'groups' | 'quotas'> & {
  readonly groups: readonly string[];
  /** Requests per minute; null for the limit of the server. */
  readonly rate: number | null;
  /** Waiting orders; null for the limit of the server. */
  readonly waiting: number | null;
  readonly state: 'active' | 'expired' | 'revoked';
};

const fileShape = record({
  schema_version: z.literal('server-tokens.v0'),
  changes: count(),
  tokens: z.array(tokenShape),
});

const TOKENS_MAX = 10_000;
/** The default time until a token expires. */
const TOKEN_EXPIRES_MS = 90 * 86_400_000;
const EXPIRES_MS_MAX = 3_660 * 86_400_000;
/** An ended token stays in the list this long, so that its owner can see why it stopped working. */
const ENDED_KEPT_MS = 90 * 86_400_000;
const FILE = 'tokens.json';
const LOCK = 'tokens.lock';
const FILE_BYTES_MAX = 16 * 1024 * 1024;

/** The tokens of a server. Several processes may change the file; each sees the changes of the others at once. */
export class Tokens {
  readonly #folder: string;
  readonly #clock: Clock;
  #seen: string | undefined;
  /** The changes by this process at the last look; undefined in the next turn of the event loop. */
  #lookedAt: number | undefined;
  #byHash = new Map<string, StoredToken>();
  #byId = new Map<string, StoredToken>();
  /** Days of use that are not in the file yet. */
  #used = new Map<string, string>();
  #saving: NodeJS.Timeout | undefined;

  constructor(folder: string, clock: Clock) {
    this.#folder = folder;
    this.#clock = clock;
    this.#load();
  }

  /** The token that a text stands for; undefined if it is unknown, expired or revoked, without saying which. */
  find(text: string): StoredToken | undefined {
    if (!isTokenText(text)) return undefined;
    this.#load();
    const sha256 = secretHash(text);
    const token = this.#byHash.get(sha256);
    if (!token || !isSameHash(token.sha256, sha256) || this.#stateOf(token) !== 'active') return undefined;
    this.#noteUse(token);
    return token;
  }

  /** The token with an id, if it is still active. */
  active(id: string): StoredToken | undefined {
    this.#load();
    const token = this.#byId.get(id);
    return token && this.#stateOf(token) === 'active' ? token : undefined;
  }

  /** Whether a token exists that opens the server. */
  hasActive(): boolean {
    this.#load();
    for (const token of this.#byId.values()) if (this.#stateOf(token) === 'active') return true;
    return false;
  }

  /** All tokens, oldest first. */
  list(): TokenRow[] {
    this.#load();
    return [...this.#byId.values()].map(token => this.#row(token));
  }

  /** Creates a token. The text is returned here and nowhere else. */
  async create(order: {
    readonly name: string;
    readonly role: ServerRole;
    readonly groups?: readonly string[] | undefined;
    readonly expiresInMs?: number | undefined;
    readonly quotas?: TokenQuotas | undefined;
  }): Promise<{ readonly token: TokenRow; readonly text: string }> {
    const { name, role, groups = [], expiresInMs = TOKEN_EXPIRES_MS } = order;
    const quotas = defined({ ...order.quotas });
    const nowMs = this.#clock.now();
    if (!(expiresInMs >= 1_000 && expiresInMs <= EXPIRES_MS_MAX))
      throw new Fault('usage', 'A token expires after 1 second to 3660 days. Use a time such as 90d.');
    const text = newTokenText();
    const made: StoredToken = {
      id: `tok_${newCorrelationId()}`,
      name,
      prefix: text.slice(0, 8),
      role,
      ...(groups.length > 0 && { groups: [...new Set(groups)] }),
      ...(Object.keys(quotas).length > 0 && { quotas }),
      sha256: secretHash(text),
      created_at: instantText(nowMs),
      expires_at: instantText(nowMs + expiresInMs),
      revoked_at: null,
      last_used_on: null,
    };
    for (const fault of formOf(tokenShape).faults(made, ''))
      throw new Fault('usage', `The ${fault.path} of a token ${fault.message}.`);
    await this.#change(tokens => {
      const kept = tokens.filter(token => !this.#isLongEnded(token, nowMs));
      if (kept.length >= TOKENS_MAX)
        throw new Fault('too_many', `This server has ${TOKENS_MAX.toLocaleString('en-US')} tokens. Revoke some first.`);
      return [...kept, made];
    });
    return { token: this.#row(made), text };
  }

  /** Revokes a token for good. Returns undefined if there is none with this id. */
  async revoke(id: string): Promise<TokenRow | undefined> {
    const revokedAt = instantText(this.#clock.now());
    await this.#change(tokens =>
      tokens.map(token => (token.id === id && token.revoked_at === null ? { ...token, revoked_at: revokedAt } : token)),
    );
    const token = this.#byId.get(id);
    return token && this.#row(token);
  }

  /** Writes the days of use that are not in the file yet. */
  async saveUse(): Promise<void> {
    clearTimeout(this.#saving);
    this.#saving = undefined;
    const used = this.#used;
    if (used.size === 0) return;
    this.#used = new Map();
    await this.#change(tokens =>
      tokens.map(token => ({ ...token, last_used_on: used.get(token.id) ?? token.last_used_on })),
    );
  }

  #noteUse({ id, last_used_on: last }: StoredToken): void {
    const today = instantText(this.#clock.now()).slice(0, 10);
    if (last === today || this.#used.get(id) === today) return;
    this.#used.set(id, today);
    // A failure to note a use must not keep a request from being answered.
    this.#saving ??= setTimeout(() => void this.saveUse().catch(() => undefined), USE_SAVED_AFTER_MS).unref();
  }

  #stateOf({ revoked_at: revoked, expires_at: expires }: StoredToken): TokenRow['state'] {
    if (revoked !== null) return 'revoked';
    return this.#clock.now() < (parseInstant(expires) ?? 0) ? 'active' : 'expired';
  }

  #isLongEnded({ revoked_at: revoked, expires_at: expires }: StoredToken, nowMs: number): boolean {
    return nowMs - (parseInstant(revoked ?? expires) ?? nowMs) > ENDED_KEPT_MS;
  }

  #row(token: StoredToken): TokenRow {
    const { sha256: _, groups = [], quotas: { rate = null, waiting = null } = {}, ...row } = token;
    return { ...row, groups, rate, waiting, state: this.#stateOf(token) };
  }

  async #change(change: (tokens: readonly StoredToken[]) => readonly StoredToken[]): Promise<void> {
    await whileLocked(this.#folder, LOCK, () => {
      const before = this.#read();
      const tokens = change(before.tokens);
      writeProven(this.#file, { schema_version: 'server-tokens.v0', changes: before.changes + 1, tokens });
      changesHere++;
    });
    this.#load();
  }

  get #file(): string {
    return path.join(this.#folder, FILE);
  }

  /**
   * Reads the file again if another process replaced it. Requests that are answered in one turn of the event loop share
   * one look.
   */
  #load(): void {
    if (this.#lookedAt === changesHere) return;
    this.#lookedAt = changesHere;
    setImmediate(() => {
      this.#lookedAt = undefined;
    }).unref();
    const stat = lstatSync(this.#file, { bigint: true, throwIfNoEntry: false });
    const seen = stat && `${stat.ino}.${stat.size}.${stat.ctimeNs}`;
    if (seen === this.#seen && seen !== undefined) return;
    const { tokens } = this.#read();
    this.#byHash = new Map(tokens.map(token => [token.sha256, token]));
    this.#byId = new Map(tokens.map(token => [token.id, token]));
    this.#seen = seen;
  }

  #read(): z.infer<typeof fileShape> {
    const value = readProven(this.#file, FILE_BYTES_MAX);
    if (value === undefined) return { schema_version: 'server-tokens.v0', changes: 0, tokens: [] };
    if (!isShaped(value, fileShape))
      throw new Fault('foreign_state', 'The token file is from another version of Proctor. Use that version.');
    return value as z.infer<typeof fileShape>;
  }
}

/** How often this process changed a token file. */
let changesHere = 0;
const USE_SAVED_AFTER_MS = 60_000;
