import * as z from 'zod/mini';
import { matching, record } from '../../contracts/shape.ts';
import { allows } from '../access/roles.ts';
import { route, Streamed } from '../http/route.ts';
import { readableRunAt, runParams } from './run-at.ts';

export const runEventsRoute = route({
  name: 'runEvents',
  method: 'GET',
  path: '/v1/runs/{run_id}/events',
  role: 'viewer',
  why: 'Streams the events of a run as they happen, after Last-Event-ID or the given position.',
  params: runParams,
  query: record({
    after: z.optional(matching(/^\d{1,15}(?:\.\d{1,15}){0,2}$/, 'the id of an event')),
  }),
  gives: { media: 'text/event-stream' },
  refuses: { too_many_viewers: 503 },
  act: ({ params, query }, { server, who, request, incoming }) => {
    const place = readableRunAt(params.run_id, server);
    server.checkReady();
    const after = request.headers.get('last-event-id') ?? query.after;
    // A view can outlive the session or token that opened it.
    const isAllowed = async (): Promise<boolean> => {
      const now = await server.access.identify(incoming);
      return now !== undefined && allows(now.role, 'viewer');
    };
    return new Streamed(to => {
      server.viewers.hold(who.id, to);
      server.live.view(place, to, { ...(after !== undefined && { after }), isAllowed });
    });
  },
});
