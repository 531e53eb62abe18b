import * as z from 'zod/mini';
import { Fault } from '../../base/fault.ts';
import { anyObject, record } from '../../contracts/shape.ts';
import { jsonContent, route } from '../http/route.ts';
import { readableRunAt, runParams } from './run-at.ts';

export const pageTop = record({
  subject: z.string(),
  id: z.string(),
  at: z.nullable(z.string()),
  tone: z.enum(['good', 'bad', 'unsure']),
  word: z.string(),
  sentence: z.string(),
});

export const runPageRoute = route({
  name: 'runPage',
  method: 'GET',
  path: '/v1/runs/{run_id}/page',
  role: 'viewer',
  why: 'Gives the data of the page of an agent, script or intent run, finished or running. Lists and texts are cut.',
  params: runParams,
  gives: record({
    kind: z.enum(['agent', 'script', 'intent']),
    top: pageTop,
    data: anyObject(),
    proctor_version: z.string(),
    style_mark: z.string(),
  }),
  refuses: { no_page: 404, unreadable_run: 409 },
  act: async ({ params }, { server }) => {
    const page = await server.data.page(readableRunAt(params.run_id, server));
    if (page === undefined) throw new Fault('no_page', 'A suite run has no such page. Ask for its report.');
    return jsonContent(page);
  },
});
