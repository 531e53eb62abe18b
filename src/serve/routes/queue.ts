import { route } from '../http/route.ts';
import { queueView, queueViewShape } from '../workers/queue-view.ts';

export const showQueueRoute = route({
  name: 'showQueue',
  method: 'GET',
  path: '/v1/queue',
  role: 'viewer',
  why: 'Shows what waits in the queue and since when, what is active, what was lost, and the workers.',
  gives: queueViewShape,
  refuses: { no_queue: 404, queue_unavailable: 503, queue_failed: 503 },
  act: async (_, { server }) => queueView(await server.team.overview()),
});
