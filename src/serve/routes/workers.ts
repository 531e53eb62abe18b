import { Readable } from 'node:stream';
import * as z from 'zod/mini';
import { Fault } from '../../base/fault.ts';
import type { ContentHash } from '../../base/hash.ts';
import { matching, record } from '../../contracts/shape.ts';
import { isDatabaseDown, QUEUE_DOWN } from '../../queue/database-down.ts';
import {
  beatAnswerShape,
  beatBodyShape,
  claimBodyShape,
  claimsAnswerShape,
  offerOf,
  settleAnswerShape,
  settleBodyShape,
  wireClaim,
} from '../../queue/wire.ts';
import { REMOTE_BLOB_BYTES_MAX } from '../../store/remote.ts';
import { Content, route, type Route, type RouteContext } from '../http/route.ts';

const refuses = {
  no_queue: 404,
  not_your_claim: 403,
  queue_unavailable: 503,
  queue_failed: 503,
  too_many_workers: 503,
} as const;

const claimAttemptsRoute = route({
  name: 'claimAttempts',
  method: 'POST',
  path: '/v1/claims',
  role: 'worker',
  isRoutine: true,
  why: 'Gives a worker attempts to make, and waits up to 25 seconds for the first.',
  body: claimBodyShape,
  gives: claimsAnswerShape,
  refuses,
  act: async ({ body: { free, wait_ms: waitMs, ...offer } }, { server, who, signal, incoming }) => {
    server.checkReady();
    const claims = await server.team.claim(who.id, offerOf(offer), free, { waitMs, signal });
    try {
      if (signal.aborted) throw new Fault('client_gone', 'The client went away.');
      // The token may have been revoked meanwhile.
      await server.access.identify(incoming);
    } catch (error) {
      await server.team.handBack(claims);
      throw error;
    }
    return { claims: claims.map(({ claim, ticket }) => ({ claim: wireClaim(claim), ticket })) };
  },
});

const beatRoute = route({
  name: 'beat',
  method: 'POST',
  path: '/v1/beats',
  role: 'worker',
  isRoutine: true,
  why: 'Keeps the claims of a worker alive, and lists those that it has lost.',
  body: beatBodyShape,
  bodyBytesMax: 8 * 1024 ** 2,
  gives: beatAnswerShape,
  refuses: { ...refuses, [QUEUE_DOWN]: 503 },
  act: async ({ body }, { server, who }) => ({
    lost: await server.team.beat(who.id, body.tickets).catch((error: unknown) => {
      if (isDatabaseDown(error))
        throw new Fault(QUEUE_DOWN, 'The database of the queue is down. Go on, and beat again.', { cause: error });
      throw error;
    }),
  }),
});

const settleRoute = route({
  name: 'settle',
  method: 'POST',
  path: '/v1/settlements',
  role: 'worker',
  isRoutine: true,
  why: 'Ends claims of a worker with the outcomes of their attempts.',
  body: settleBodyShape,
  bodyBytesMax: 16 * 1024 ** 2,
  gives: settleAnswerShape,
  refuses: { ...refuses, attempt_settlement: 422 },
  act: async ({ body }, { server, who }) => {
    const ends = body.settlements.map(({ ticket, is, text }) => ({
      ticket,
      end: is === 'reported' ? { is, report: text } : { is, why: text },
    }));
    return { taken: await server.team.settle(who.id, ends) };
  },
});

const blobParams = record({ sha256: matching(/^[0-9a-f]{64}$/, '64 lower-case hexadecimal digits') });

const blobRefuses = {
  ...refuses,
  no_store: 404,
  store_unavailable: 503,
  store_rights: 503,
  store_bucket: 503,
  store_failed: 503,
  blob_mismatch: 422,
} as const;

const readBlobRoute = route({
  name: 'readBlob',
  method: 'GET',
  path: '/v1/blobs/{sha256}',
  role: 'worker',
  why: 'Gives a blob that the attempt of a worker names; the header proctor-claim has its ticket.',
  params: blobParams,
  gives: { media: 'application/octet-stream' },
  refuses: blobRefuses,
  act: async ({ params }, asking) => {
    const { server, who } = asking;
    const bytes = await server.team.readBlob(who.id, ticketIn(asking), digestOf(params.sha256));
    return new Content(Readable.toWeb(Readable.from(bytes)) as ReadableStream<Uint8Array>, {
      'content-type': 'application/octet-stream',
    });
  },
});

const writeBlobRoute = route({
  name: 'writeBlob',
  method: 'PUT',
  path: '/v1/blobs/{sha256}',
  role: 'worker',
  isRoutine: true,
  why: 'Stores a blob for an attempt that a worker makes; the header proctor-claim has its ticket.',
  params: blobParams,
  body: { upload: ['application/octet-stream'], bytesMax: REMOTE_BLOB_BYTES_MAX },
  gives: z.object({}),
  status: 204,
  refuses: { ...blobRefuses, too_many_uploads: 429 },
  act: async ({ params }, asking) => {
    const { server, who, request } = asking;
    if (Number(request.headers.get('content-length') ?? 0) > REMOTE_BLOB_BYTES_MAX)
      throw new Fault('body_too_large', `The body is larger than ${REMOTE_BLOB_BYTES_MAX} bytes.`);
    const { team } = server;
    const ticket = ticketIn(asking);
    const free = team.uploads.take(who.id);
    try {
      const bytes = (request.body ?? Readable.from([])) as AsyncIterable<Uint8Array>;
      await team.writeBlob(who.id, ticket, digestOf(params.sha256), bytes, REMOTE_BLOB_BYTES_MAX);
    } finally {
      free();
    }
  },
});

function ticketIn({ request }: RouteContext): string {
  return request.headers.get('proctor-claim') ?? '';
}

function digestOf(name: string): ContentHash {
  return `sha256:${name}`;
}

/** What opens to workers. Each sees only the attempts that its token holds, and the blobs that they name. */
export const WORKER_ROUTES: readonly Route[] = [
  claimAttemptsRoute,
  beatRoute,
  settleRoute,
  readBlobRoute,
  writeBlobRoute,
];
