import { type Clock, monotonicMs, systemClock } from '../base/clock.ts';
import { newSessionId } from '../base/ids.ts';
import { askUntil, Hint } from './hint.ts';
import type {
  AttemptClaim,
  AttemptEnd,
  AttemptOutcome,
  AttemptRequest,
  Queue,
  QueueOverview,
  QueueWait,
  Settlement,
  WorkerOffer,
} from './queue.ts';
import { assertRequest, assertSettlement } from './requests.ts';
import { allowsScript, limitedTarget, shownNeeds } from './scripts.ts';

/** The queue in the memory of one process: for tests, and to measure what a database adds. */
export class MemoryQueue implements Queue {
  readonly #entries = new Map<string, Entry>();
  readonly #seen = new Map<string, { offer: WorkerOffer; atMs: number }>();
  readonly #listeners = new Set<(runId: string) => void>();
  readonly #hint = new Hint();
  readonly #clock: Clock;
  readonly #heartbeatMs: number;
  readonly #sealed = new Map<string, number>();

  constructor({ clock = systemClock, heartbeatMs = 30_000 }: { clock?: Clock; heartbeatMs?: number } = {}) {
    this.#clock = clock;
    this.#heartbeatMs = heartbeatMs;
  }

  async offer(requests: readonly AttemptRequest[]): Promise<void> {
    for (const request of requests) assertRequest(request);
    for (const request of requests) {
      this.#sealed.delete(request.runId);
      const known = this.#entries.get(request.key);
      if (known && known.outcome?.is !== 'handed_back') continue;
      this.#entries.set(request.key, { request, offeredAtMs: this.#clock.now() });
    }
    this.#hint.wake();
  }

  async claim(worker: WorkerOffer, free: number, wait: QueueWait): Promise<readonly AttemptClaim[]> {
    const ask = async () => this.#take(worker, free);
    return askUntil(ask, claims => claims.length === 0, this.#hint, wait, POLL_MS, monotonicMs);
  }

  #take(offer: WorkerOffer, free: number): readonly AttemptClaim[] {
    this.#seen.set(offer.worker, { offer, atMs: this.#clock.now() });
    const suitable = this.#waiting().filter(
      ({ request }) =>
        offer.protocols.includes(request.protocol) &&
        offer.needs.includes(request.needs) &&
        allowsScript(offer.scripts, request) &&
        (request.notBy === undefined || offer.keyId !== request.notBy),
    );
    const claims: AttemptClaim[] = [];
    for (const entry of suitable.sort((a, b) => b.request.priority - a.request.priority)) {
      if (claims.length >= free) break;
      if (this.#hasSlot(entry.request)) claims.push(this.#begin(entry, offer.worker));
    }
    return claims;
  }

  #hasSlot(wanted: AttemptRequest): boolean {
    const { slots, needs } = wanted;
    if (!slots) return true;
    const busy = this.#active().filter(
      ({ request }) => request.needs === needs && limitedTarget(request) === limitedTarget(wanted),
    );
    return busy.length < slots.max;
  }

  #begin(entry: Entry, worker: string): AttemptClaim {
    const begunAtMs = this.#clock.now();
    const { request } = entry;
    const claim = { request, worker, id: newSessionId(), begunAtMs, beatWithinMs: this.#heartbeatMs };
    Object.assign(entry, { claim, beatAtMs: begunAtMs });
    return claim;
  }

  async beat(claims: readonly AttemptClaim[]): Promise<readonly AttemptClaim[]> {
    const nowMs = this.#clock.now();
    return claims.filter(claim => {
      const entry = this.#held(claim);
      if (!entry) return true;
      entry.beatAtMs = nowMs;
      const seen = this.#seen.get(claim.worker);
      if (seen) seen.atMs = nowMs;
      return false;
    });
  }

  forget(): void {}

  async settle(settlements: readonly Settlement[]): Promise<readonly string[]> {
    for (const settlement of settlements) assertSettlement(settlement);
    const taken = new Set<string>();
    for (const { claim, end } of settlements) {
      const entry = this.#held(claim);
      if (entry) this.#end(entry, end);
      const known = this.#entries.get(claim.request.key);
      if (known?.claim?.id === claim.id && known.outcome?.is === end.is) taken.add(claim.request.key);
    }
    this.#hint.wake();
    return [...taken];
  }

  async outcomes(keys: readonly string[], wait: QueueWait): Promise<ReadonlyMap<string, AttemptOutcome>> {
    const ask = async () =>
      new Map(
        keys.flatMap(key => {
          const outcome = this.#entries.get(key)?.outcome;
          return outcome ? [[key, outcome] as const] : [];
        }),
      );
    return askUntil(ask, known => known.size === 0, this.#hint, wait, POLL_MS, monotonicMs);
  }

  async begun(keys: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return new Map(
      keys.flatMap(key => {
        const { claim, outcome } = this.#entries.get(key) ?? {};
        return claim && outcome?.is !== 'handed_back' ? [[key, claim.begunAtMs] as const] : [];
      }),
    );
  }

  async withdraw(runId: string): Promise<void> {
    for (const [key, entry] of this.#entries) {
      if (entry.request.runId !== runId || entry.outcome) continue;
      if (entry.claim) this.#end(entry, { is: 'withdrawn' });
      else this.#entries.delete(key);
    }
    for (const listener of this.#listeners) listener(runId);
    this.#hint.wake();
  }

  onWithdrawn(listener: (runId: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async supervise(): Promise<void> {
    const nowMs = this.#clock.now();
    for (const entry of this.#active()) {
      const { request, claim, beatAtMs } = entry;
      if (nowMs - beatAtMs > claim.beatWithinMs || nowMs - claim.begunAtMs > request.timeoutMs) {
        this.#end(entry, { is: 'lost' });
      }
    }
    for (const [runId, atMs] of this.#sealed) if (nowMs - atMs > KEPT_MS) this.#forget(runId);
    this.#hint.wake();
  }

  async markSealed(runId: string): Promise<void> {
    if (!this.#sealed.has(runId)) this.#sealed.set(runId, this.#clock.now());
  }

  #forget(runId: string): void {
    this.#sealed.delete(runId);
    for (const [key, { request }] of this.#entries) if (request.runId === runId) this.#entries.delete(key);
  }

  async overview(): Promise<QueueOverview> {
    const nowMs = this.#clock.now();
    const seen = [...this.#seen.values()].filter(({ atMs }) => nowMs - atMs <= SEEN_MS);
    const [waiting, active] = [this.#waiting(), this.#active()];
    const offered = [waiting, active].flatMap(entries => entries.map(({ request }) => shownNeeds(request)));
    const names = [...new Set([...offered, ...seen.flatMap(({ offer }) => offer.needs)])].sort();
    const recent = [...this.#entries.values()].filter(
      ({ outcome }) => outcome?.is === 'lost' && nowMs - outcome.endedAtMs < HOUR_MS,
    );
    return {
      needs: names.map(needs => {
        const own = waiting.filter(({ request }) => shownNeeds(request) === needs);
        const busy = active.filter(({ request }) => shownNeeds(request) === needs);
        return {
          needs,
          waiting: own.length,
          active: busy.length,
          oldestWaitingMs: own.length === 0 ? null : nowMs - Math.min(...own.map(({ offeredAtMs }) => offeredAtMs)),
          workers: seen.filter(
            ({ offer }) =>
              offer.needs.includes([...own, ...busy][0]?.request.needs ?? needs) &&
              [...own, ...busy].every(({ request }) => allowsScript(offer.scripts, request)) &&
              own.every(({ request }) => offer.protocols.includes(request.protocol)),
          ).length,
        };
      }),
      workers: seen.map(({ offer: { worker, slots, version }, atMs }) => ({
        worker,
        slots,
        active: active.filter(({ claim }) => claim.worker === worker).length,
        version,
        lastSeenMs: nowMs - atMs,
      })),
      lostLastHour: recent.length,
    };
  }

  async close(): Promise<void> {
    this.#hint.wake();
  }

  #waiting(): Entry[] {
    return [...this.#entries.values()].filter(({ claim }) => !claim);
  }

  #active(): Active[] {
    return [...this.#entries.values()].filter((entry): entry is Active => !!entry.claim && !entry.outcome);
  }

  /** The entry of a claim that is neither settled, lost nor withdrawn. */
  #held(claim: AttemptClaim): Entry | undefined {
    const entry = this.#entries.get(claim.request.key);
    return entry?.claim?.id === claim.id && !entry.outcome ? entry : undefined;
  }

  #end(entry: Entry, end: AttemptEnd): void {
    const { worker = '', begunAtMs = 0 } = entry.claim ?? {};
    entry.outcome = { ...end, worker, begunAtMs, endedAtMs: this.#clock.now() };
  }
}

interface Entry {
  readonly request: AttemptRequest;
  readonly offeredAtMs: number;
  claim?: AttemptClaim;
  beatAtMs?: number;
  outcome?: AttemptOutcome;
}

type Active = Entry & { readonly claim: AttemptClaim; readonly beatAtMs: number };

const POLL_MS = 1000;
const HOUR_MS = 3_600_000;
const SEEN_MS = 60_000;
const KEPT_MS = 7 * 24 * HOUR_MS;
