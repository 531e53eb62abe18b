import { Fault } from '../base/fault.ts';
import type { ContentHash } from '../base/hash.ts';
import { answerText } from '../base/answer-body.ts';
import type { OriginClient } from '../base/origin-client.ts';
import { formOf } from '../contracts/form.ts';
import type { Shape } from '../contracts/shape.ts';
import type { infer as Infer } from 'zod/mini';
import type { AttemptClaim, Queue, QueueWait, Settlement, WorkerOffer } from './queue.ts';
import { assertRequest, assertSettlement } from './requests.ts';
import { QUEUE_DOWN } from './database-down.ts';
import * as wire from './wire.ts';

/**
 * The queue behind a server, for workers without a database password. A conductor needs the database, so its methods are
 * refused.
 */
export class RemoteQueue implements Queue {
  readonly #client: OriginClient;
  /** What proves to the server that a claim is ours. */
  readonly #tickets = new WeakMap<AttemptClaim, string>();
  readonly #held = new Set<AttemptClaim>();

  constructor(client: OriginClient) {
    this.#client = client;
  }

  async claim(worker: WorkerOffer, free: number, { waitMs, signal }: QueueWait): Promise<readonly AttemptClaim[]> {
    const wait_ms = Math.min(Math.max(0, waitMs), wire.LONG_POLL_MS_MAX);
    const body = { ...wire.wireOffer(worker), free: Math.min(free, wire.CLAIMS_MAX), wait_ms };
    let answer: Infer<typeof wire.claimsAnswerShape>;
    try {
      answer = await this.#ask('/v1/claims', body, wire.claimsAnswerShape, { timeoutMs: wait_ms + ANSWER_MS, signal });
    } catch (error) {
      if (signal?.aborted === true) return [];
      throw error;
    }
    return answer.claims.map(({ claim: received, ticket }) => {
      const claim = wire.claimOf(received);
      assertRequest(claim.request);
      this.#tickets.set(claim, ticket);
      this.#held.add(claim);
      return claim;
    });
  }

  async beat(claims: readonly AttemptClaim[]): Promise<readonly AttemptClaim[]> {
    const lost = new Set<AttemptClaim>(claims.filter(claim => !this.#tickets.has(claim)));
    const own = claims.filter(claim => !lost.has(claim));
    for (let from = 0; from < own.length; from += wire.CLAIMS_MAX) {
      const part = own.slice(from, from + wire.CLAIMS_MAX);
      const body = { tickets: part.map(claim => this.#tickets.get(claim)) };
      const gone = new Set((await this.#ask('/v1/beats', body, wire.beatAnswerShape)).lost);
      for (const claim of part) if (gone.has(claim.id)) lost.add(claim);
    }
    this.forget([...lost]);
    return claims.filter(claim => lost.has(claim));
  }

  forget(claims: readonly AttemptClaim[]): void {
    for (const claim of claims) this.#held.delete(claim);
  }

  async settle(settlements: readonly Settlement[]): Promise<readonly string[]> {
    for (const settlement of settlements) assertSettlement(settlement);
    const own = settlements.filter(({ claim }) => this.#tickets.has(claim));
    const taken = new Set<string>();
    for (let from = 0; from < own.length; from += wire.SETTLEMENTS_MAX) {
      const part = own.slice(from, from + wire.SETTLEMENTS_MAX);
      const body = {
        settlements: part.map(({ claim, end }) => ({
          ticket: this.#tickets.get(claim),
          is: end.is,
          text: end.is === 'reported' ? end.report : end.why,
        })),
      };
      const ids = new Set((await this.#ask('/v1/settlements', body, wire.settleAnswerShape)).taken);
      for (const { claim } of part) {
        this.#held.delete(claim);
        if (ids.has(claim.id)) taken.add(claim.request.key);
      }
    }
    return [...taken];
  }

  /** Rejects if the server does not know the token, or has no queue. */
  async check(): Promise<void> {
    await this.#ask('/v1/beats', { tickets: [] }, wire.beatAnswerShape);
  }

  /**
   * The tickets that may let this worker read a blob: of claims that name it, then of claims whose request is in the store,
   * because it may name the blob.
   */
  ticketsToRead(digest: ContentHash): string[] {
    const held = [...this.#held];
    const naming = held.filter(({ request: { ask } }) => ask === digest || ask.includes(digest));
    const stored = held.filter(({ request: { ask } }) => ask !== digest && ask.startsWith('sha256:'));
    return [...naming, ...stored].flatMap(claim => this.#tickets.get(claim) ?? []);
  }

  /** The tickets that let this worker store a blob: any claim that it holds, the last one first. */
  ticketsToWrite(): string[] {
    return [...this.#held].reverse().flatMap(claim => this.#tickets.get(claim) ?? []);
  }

  /** A server does not tell. The worker finds out when it beats. */
  onWithdrawn(): () => void {
    return () => undefined;
  }

  async offer(): Promise<void> {
    throw conductorOnly('offer attempts');
  }

  async outcomes(): Promise<never> {
    throw conductorOnly('read outcomes');
  }

  async begun(): Promise<never> {
    throw conductorOnly('see what others make');
  }

  async withdraw(): Promise<void> {
    throw conductorOnly('withdraw a run');
  }

  async supervise(): Promise<void> {
    throw conductorOnly('give up attempts');
  }

  async markSealed(): Promise<void> {
    throw conductorOnly('mark a run as sealed');
  }

  async overview(): Promise<never> {
    throw conductorOnly('show the queue');
  }

  async close(): Promise<void> {
    this.#held.clear();
  }

  async #ask<S extends Shape>(path: string, body: object, shape: S, more: Partial<Sending> = {}): Promise<Infer<S>> {
    const { timeoutMs = ANSWER_MS, signal } = more;
    let response: Response;
    let text: string | undefined;
    try {
      const headers = { 'content-type': 'application/json' };
      response = await this.#client.send('POST', path, { body: JSON.stringify(body), headers, timeoutMs, signal });
      text = await answerText(response, ANSWER_BYTES_MAX);
    } catch (cause) {
      throw unavailable(cause);
    }
    if (text === undefined) throw new Fault('queue_failed', 'The answer of the server is too large.');
    if (!response.ok) throw refusalOf(response.status, text);
    const value = valueIn(text);
    for (const _ of formOf(shape).faults(value, ''))
      throw new Fault('queue_failed', 'The address does not answer as a Proctor server with a queue.');
    return value as Infer<S>;
  }
}

interface Sending {
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

function valueIn(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function refusalOf(status: number, text: string): Fault {
  if (status >= 300 && status < 400)
    return new Fault('worker_refused', 'The server redirects to another address. Use that address, if you trust it.');
  const { error } = (valueIn(text) ?? {}) as { error?: { code?: unknown; message?: unknown } };
  if (status === 429 || status >= 500) {
    const isDown = error?.code === QUEUE_DOWN;
    return unavailable(isDown ? new Fault(QUEUE_DOWN, 'The server says that its database is down.') : undefined);
  }
  const message = typeof error?.message === 'string' ? error.message.slice(0, MESSAGE_CHARS_MAX) : '';
  return new Fault('worker_refused', message || `The server refuses this worker with status ${status}.`);
}

/**
 * Only the server can say that the database is down. If the server is down itself, a conductor can still give up the
 * attempts of this worker.
 */
function unavailable(cause: unknown): Fault {
  return new Fault('queue_unavailable', 'The server of the queue cannot be reached, or cannot reach the queue.', {
    cause,
  });
}

function conductorOnly(what: string): Fault {
  return new Fault('not_offered', `A worker without access to the database cannot ${what}.`);
}

const ANSWER_MS = 15_000;
/** 1,024 claims of 64 KiB each do not fit, but a worker has at most 256 slots. */
const ANSWER_BYTES_MAX = 128 * 1024 ** 2;
const MESSAGE_CHARS_MAX = 300;
