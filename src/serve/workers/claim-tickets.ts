import { createHmac, timingSafeEqual } from 'node:crypto';
import { Fault } from '../../base/fault.ts';
import { type ContentHash, isContentHash } from '../../base/hash.ts';
import { makeStateKey } from '../../base/state-key.ts';
import { blobsOfQuestion } from '../../contracts/attempt-request/index.ts';
import type { AttemptClaim } from '../../queue/queue.ts';
import { claimOf, type WireClaim, wireClaim } from '../../queue/wire.ts';

/**
 * Tickets bind a claim to the token that made it. Only this server can write one, so it needs no list of claims, and a
 * ticket still counts after a restart. The request in a ticket is as short as possible: a worker sends it with every beat.
 */
export class ClaimTickets {
  readonly #key = makeStateKey().bytes;

  write(claim: AttemptClaim, holder: string): string {
    const { request } = claim;
    const ask = isContentHash(request.ask) ? request.ask : '';
    const { trace: _, ...short } = request;
    const blobs = ask === '' ? blobsOfQuestion(request.ask) : [];
    const payload: TicketPayload = {
      holder,
      claim: wireClaim({ ...claim, request: { ...short, ask } }),
      ...(blobs.length > 0 && { blobs }),
    };
    const text = Buffer.from(JSON.stringify(payload)).toString('base64url');
    return `${text}.${this.#code(text).toString('base64url')}`;
  }

  /** The claim of a ticket, and the blobs that its request names. Refuses a forged ticket and one of another token alike, and tells nothing about it. */
  read(ticket: string, holder: string): TicketedAttempt {
    const [text = '', code = ''] = ticket.split('.');
    const given = Buffer.from(code, 'base64url');
    const expected = this.#code(text);
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) throw notYours();
    const payload = JSON.parse(Buffer.from(text, 'base64url').toString()) as TicketPayload;
    if (payload.holder !== holder) throw notYours();
    return { claim: claimOf(payload.claim), blobs: payload.blobs ?? [] };
  }

  #code(text: string): Buffer {
    return createHmac('sha256', this.#key).update(`${FORMAT}\n${text}`).digest();
  }
}

interface TicketPayload {
  /** The identity of the token. */
  readonly holder: string;
  readonly claim: WireClaim;
  /** The blobs that the request names, if it travels through the queue. */
  readonly blobs?: readonly ContentHash[];
}

interface TicketedAttempt {
  readonly claim: AttemptClaim;
  readonly blobs: readonly ContentHash[];
}

/** The blob with the request of a claim; undefined if the request travels through the queue. */
export function requestBlobOf({ request }: AttemptClaim): ContentHash | undefined {
  return isContentHash(request.ask) ? request.ask : undefined;
}

const FORMAT = 'proctor-claim-ticket.v1';

export function notYours(): Fault {
  return new Fault('not_your_claim', 'This token does not hold this claim.');
}
