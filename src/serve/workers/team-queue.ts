import { setTimeout as pause } from 'node:timers/promises';
import { monotonicMs } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import type { ContentHash } from '../../base/hash.ts';
import { attemptRequest, blobsOfAttempt } from '../../contracts/attempt-request/index.ts';
import type { AttemptClaim, Queue, QueueOverview, QueueWait, Settlement, WorkerOffer } from '../../queue/queue.ts';
import { assertSettlement } from '../../queue/requests.ts';
import { blobBytes } from '../../store/blob-bytes.ts';
import type { BlobStore } from '../../store/store.ts';
import { uploadSlots } from '../operation/slots.ts';
import type { TeamMetrics } from '../operation/team-metrics.ts';
import { ClaimDesk } from './claim-desk.ts';
import { ClaimTickets, notYours, requestBlobOf } from './claim-tickets.ts';
import type { QueueContact } from './queue-contact.ts';

/** A claim for a worker, with the ticket that proves whose it is. */
export interface TicketedClaim {
  readonly claim: AttemptClaim;
  readonly ticket: string;
}

/** The queue of a team, as its server opens it to workers. A worker sees only what its token holds. */
export class TeamQueue {
  readonly uploads = uploadSlots(16, 16);
  /** The queue itself, for the suites of this server. */
  readonly queue: Queue;
  readonly contact: QueueContact;
  readonly store: BlobStore | undefined;
  readonly #metrics: TeamMetrics;
  readonly #desk: ClaimDesk;
  readonly #tickets = new ClaimTickets();
  #shown: { readonly atMs: number; readonly isPending: boolean; readonly overview: Promise<QueueOverview> } | undefined;

  constructor(queue: Queue, store: BlobStore | undefined, metrics: TeamMetrics, contact: QueueContact) {
    this.contact = contact;
    this.queue = queue;
    this.store = store;
    this.#metrics = metrics;
    this.#desk = new ClaimDesk(queue, metrics);
  }

  /** How many workers wait for an attempt. */
  get waiting(): number {
    return this.#desk.waiting;
  }

  /** Claims attempts for a worker. The queue knows it by its name and its token. */
  async claim(holder: string, offer: WorkerOffer, free: number, wait: QueueWait): Promise<readonly TicketedClaim[]> {
    const worker = `${offer.worker}@${holder.replace(/^token:/, '')}`;
    const claims = await this.#desk.claim({ ...offer, worker }, free, wait);
    this.#metrics.given(claims);
    return claims.map(claim => ({
      claim: { ...claim, worker: offer.worker },
      ticket: this.#tickets.write(claim, holder),
    }));
  }

  /** Returns attempts that no worker has heard of, so that another one can make them. */
  async handBack(claims: readonly TicketedClaim[]): Promise<void> {
    if (claims.length === 0) return;
    const end = { is: 'handed_back', why: 'The worker went away before it got the attempt.' } as const;
    // If it fails, the attempts are lost after a heartbeat, as those of any worker that went away.
    await this.queue.settle(claims.map(({ claim }) => ({ claim, end }))).catch(() => undefined);
  }

  /** Returns the ids of the claims that the token no longer holds. */
  async beat(holder: string, tickets: readonly string[]): Promise<readonly string[]> {
    const claims = tickets.map(ticket => this.#tickets.read(ticket, holder).claim);
    return (await this.#metrics.watched(this.queue.beat(claims))).map(({ id }) => id);
  }

  /** Returns the ids of the claims whose settlement the queue holds. */
  async settle(holder: string, ends: readonly TicketedEnd[]): Promise<readonly string[]> {
    const settlements = ends.map(({ ticket, end }) => ({ claim: this.#tickets.read(ticket, holder).claim, end }));
    for (const settlement of settlements) assertSettlement(settlement);
    const keys = new Set(await this.#metrics.timed('settle', this.queue.settle(settlements)));
    this.#metrics.settled(settlements, keys);
    return settlements.filter(({ claim }) => keys.has(claim.request.key)).map(({ claim }) => claim.id);
  }

  /** A blob that a held claim names: its request, or its script. */
  async readBlob(holder: string, ticket: string, digest: ContentHash): Promise<AsyncIterable<Uint8Array>> {
    const { claim, blobs } = await this.#held(holder, ticket);
    if (!blobs.includes(digest) && !(await this.#isNamedIn(requestBlobOf(claim), digest))) throw notYours();
    const bytes = await this.#blobs().get(digest);
    if (!bytes) throw new Fault('not_found', 'The store does not have this blob.');
    return counted(bytes, count => this.#metrics.moved('read', count));
  }

  /** Stores what a worker received during an attempt that it holds. */
  async writeBlob(
    holder: string,
    ticket: string,
    digest: ContentHash,
    bytes: AsyncIterable<Uint8Array>,
    bytesMax: number,
  ): Promise<void> {
    await this.#held(holder, ticket);
    const received = counted(bytes, count => this.#metrics.moved('written', count));
    await this.#blobs().put(digest, received, bytesMax);
  }

  /** At most once a second and once at a time, however many clients ask. */
  overview(): Promise<QueueOverview> {
    const nowMs = monotonicMs();
    const known = this.#shown;
    if (known && (known.isPending || nowMs - known.atMs <= SHOWN_MS)) return known.overview;
    const overview = this.#metrics.watched(this.queue.overview());
    const shown = { atMs: nowMs, isPending: true, overview };
    const settled = (): void => {
      shown.atMs = monotonicMs();
      shown.isPending = false;
    };
    overview.then(settled, settled);
    this.#shown = shown;
    return overview;
  }

  /** Shows the queue in the metrics. While the database does not answer, this says so soon. */
  async sample(): Promise<void> {
    const stop = new AbortController();
    const late = pause(SAMPLE_MS, undefined, { signal: stop.signal }).catch(() => undefined);
    const overview = await Promise.race([this.overview().catch(() => undefined), late]);
    stop.abort();
    this.#metrics.sample(overview, this.waiting);
  }

  /** Answers the workers that wait. */
  drain(): void {
    this.#desk.close();
  }

  async close(): Promise<void> {
    this.#desk.close();
    await this.queue.close();
  }

  /** A claim that the queue has not given up. */
  async #held(holder: string, ticket: string): Promise<ReturnType<ClaimTickets['read']>> {
    const ticketed = this.#tickets.read(ticket, holder);
    if ((await this.#metrics.watched(this.queue.beat([ticketed.claim]))).length > 0) throw notYours();
    return ticketed;
  }

  /** Whether a request in the store is this blob, or names it. */
  async #isNamedIn(request: ContentHash | undefined, digest: ContentHash): Promise<boolean> {
    if (request === undefined || request === digest) return request === digest;
    const bytes = await blobBytes(this.#blobs(), request, attemptRequest.bytesMax);
    return typeof bytes !== 'string' && blobsOfAttempt(bytes.toString()).includes(digest);
  }

  #blobs(): BlobStore {
    if (this.store) return this.store;
    throw new Fault('no_store', 'This server has no store. Its operator can start it with --store.');
  }
}

export interface TicketedEnd {
  readonly ticket: string;
  readonly end: Settlement['end'];
}

const SHOWN_MS = 1_000;
/** Prometheus gives up after 10 seconds by default. */
const SAMPLE_MS = 2_000;

async function* counted(
  bytes: AsyncIterable<Uint8Array>,
  onBytes: (count: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const piece of bytes) {
    onBytes(piece.length);
    yield piece;
  }
}
