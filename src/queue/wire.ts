import * as z from 'zod/mini';
import { between, contentHashText, count, matching, record } from '../contracts/shape.ts';
import {
  type AttemptClaim,
  type AttemptRequest,
  OFFERED_SCRIPTS_MAX,
  type QueueOverview,
  SLOTS_MAX,
  type WorkerOffer,
} from './queue.ts';

/** The longest that a server waits for an attempt before it answers a worker. */
export const LONG_POLL_MS_MAX = 25_000;
/** The most claims in one answer, and in one beat. */
export const CLAIMS_MAX = 1_024;
/** The most settlements in one request. */
export const SETTLEMENTS_MAX = 32;

const ticketText = () => matching(/^[\w-]{1,4000}\.[\w-]{43}$/, 'a ticket from this server');

const whole = (from: number, to: number) => z.int().check(z.gte(from), z.lte(to));

export const claimBodyShape = record({
  worker: matching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, 'the name of a worker'),
  protocols: z.array(whole(1, 1_000)).check(z.minLength(1), z.maxLength(16)),
  needs: z.array(matching(/^[\w.:@+=/-]{1,300}$/, 'what a worker offers')).check(z.minLength(1), z.maxLength(64)),
  slots: whole(1, 256),
  version: matching(/^[\x20-\x7e]{1,100}$/, 'a version of Proctor'),
  key_id: z.optional(contentHashText()),
  scripts: z.optional(
    record({
      digests: z.array(contentHashText()).check(z.maxLength(OFFERED_SCRIPTS_MAX)),
      any: z.boolean(),
      network: z.enum(['blocked', 'open']),
    }),
  ),
  free: whole(1, CLAIMS_MAX),
  wait_ms: between(0, LONG_POLL_MS_MAX),
});

const requestShape = record({
  key: z.string(),
  run_id: z.string(),
  protocol: count(),
  needs: z.string(),
  slots: z.optional(record({ target: z.string(), max: z.union(SLOTS_MAX.map(max => z.literal(max))) })),
  priority: z.int(),
  timeout_ms: count(),
  ask: z.string(),
  trace: z.optional(z.string()),
});

const wireClaimShape = record({
  request: requestShape,
  worker: z.string(),
  id: z.string(),
  begun_at_ms: z.number(),
  beat_within_ms: z.number(),
});

export type WireClaim = z.infer<typeof wireClaimShape>;

/** A ticket proves to the server which claim its token holds. */
export const claimsAnswerShape = record({ claims: z.array(record({ claim: wireClaimShape, ticket: ticketText() })) });

export const beatBodyShape = record({ tickets: z.array(ticketText()).check(z.maxLength(CLAIMS_MAX)) });

/** The ids of the claims that the worker no longer holds. */
export const beatAnswerShape = record({ lost: z.array(z.string()) });

export const settleBodyShape = record({
  settlements: z
    .array(record({ ticket: ticketText(), is: z.enum(['reported', 'handed_back']), text: z.string() }))
    .check(z.maxLength(SETTLEMENTS_MAX)),
});

/** The ids of the claims whose settlement the queue holds. */
export const settleAnswerShape = record({ taken: z.array(z.string()) });

/** The queue as `proctor queue show --json` prints it, and as a server shows it. */
export const queueOverviewShape = record({
  needs: z.array(
    record({
      needs: z.string(),
      waiting: count(),
      active: count(),
      workers: count(),
      oldest_waiting_ms: z.nullable(count()),
    }),
  ),
  workers: z.array(
    record({ worker: z.string(), slots: count(), active: count(), version: z.string(), last_seen_ms: count() }),
  ),
  lost_last_hour: count(),
});

export type WireOverview = z.infer<typeof queueOverviewShape>;

export function wireOverview({ needs, workers, lostLastHour }: QueueOverview): WireOverview {
  return {
    needs: needs.map(({ oldestWaitingMs, ...row }) => ({
      ...row,
      oldest_waiting_ms: oldestWaitingMs === null ? null : Math.max(0, oldestWaitingMs),
    })),
    // A row that was written after the statement began is newer than its clock.
    workers: workers.map(({ lastSeenMs, ...row }) => ({ ...row, last_seen_ms: Math.max(0, lastSeenMs) })),
    lost_last_hour: lostLastHour,
  };
}

type WireOffer = Omit<z.infer<typeof claimBodyShape>, 'free' | 'wait_ms'>;

export function wireOffer({ worker, protocols, needs, slots, version, keyId, scripts }: WorkerOffer): WireOffer {
  const offer = { worker, protocols: [...protocols], needs: [...needs], slots, version };
  return {
    ...offer,
    ...(keyId !== undefined && { key_id: keyId }),
    ...(scripts && { scripts: { digests: [...scripts.digests], any: scripts.isAny, network: scripts.network } }),
  };
}

export function offerOf({ worker, protocols, needs, slots, version, key_id: keyId, scripts }: WireOffer): WorkerOffer {
  return {
    worker,
    protocols,
    needs,
    slots,
    version,
    ...(keyId !== undefined && { keyId }),
    ...(scripts && { scripts: { digests: scripts.digests, isAny: scripts.any, network: scripts.network } }),
  };
}

export function wireClaim({ request, worker, id, begunAtMs, beatWithinMs }: AttemptClaim): WireClaim {
  const { runId, timeoutMs, key, protocol, needs, slots, priority, ask, trace } = request;
  return {
    request: {
      key,
      run_id: runId,
      protocol,
      needs,
      priority,
      timeout_ms: timeoutMs,
      ask,
      ...(slots && { slots: { target: slots.target, max: slots.max } }),
      ...(trace !== undefined && { trace }),
    },
    worker,
    id,
    begun_at_ms: begunAtMs,
    beat_within_ms: beatWithinMs,
  };
}

export function claimOf({ request, worker, id, begun_at_ms, beat_within_ms }: WireClaim): AttemptClaim {
  const { run_id, timeout_ms, key, protocol, needs, slots, priority, ask, trace } = request;
  const known: AttemptRequest = {
    key,
    runId: run_id,
    protocol,
    needs,
    priority,
    timeoutMs: timeout_ms,
    ask,
    ...(slots && { slots }),
    ...(trace !== undefined && { trace }),
  };
  return { request: known, worker, id, begunAtMs: begun_at_ms, beatWithinMs: beat_within_ms };
}
