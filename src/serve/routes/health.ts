import * as z from 'zod/mini';
import { Fault } from '../../base/fault.ts';
import { record } from '../../contracts/shape.ts';
import { Content, route } from '../http/route.ts';

const state = record({ state: z.string() });

export const healthzRoute = route({
  name: 'healthz',
  method: 'GET',
  path: '/healthz',
  role: 'anyone',
  why: 'Says that the server is alive.',
  gives: state,
  act: () => ({ state: 'alive' }),
});

export const readyzRoute = route({
  name: 'readyz',
  method: 'GET',
  path: '/readyz',
  role: 'anyone',
  why: 'Says whether the server accepts work.',
  gives: state,
  refuses: { queue_unavailable: 503 },
  act: async (_, { server }) => {
    server.checkReady();
    if (server.hasTeam) await server.team.overview().catch(unreachable);
    return { state: 'ready' };
  },
});

function unreachable(cause: unknown): never {
  throw new Fault('queue_unavailable', 'The server cannot reach its queue.', { cause });
}

export const metricsRoute = route({
  name: 'metrics',
  method: 'GET',
  path: '/metrics',
  role: 'viewer',
  why: 'Gives the metrics of the server as Prometheus text.',
  gives: { media: 'text/plain' },
  act: async (_, { server }) => {
    const { text, type } = await server.measured();
    return new Content(text, { 'content-type': type });
  },
});
