import * as z from 'zod/mini';
import { count, matching, record } from '../../contracts/shape.ts';
import { Content, route } from '../http/route.ts';
import { readableRunAt, runParams } from './run-at.ts';

const runRow = record({
  run_id: z.string(),
  kind: z.string(),
  state: z.enum(['waiting', 'running', 'finished', 'interrupted', 'foreign', 'unreadable']),
  status: z.string(),
  subject: z.nullable(z.string()),
  started_at: z.nullable(z.string()),
  duration_ms: z.nullable(z.number()),
  progress: z.nullable(record({ done: count(), total: count() })),
  position: z.nullable(count()),
  verdicts: z.nullable(record({ passed: count(), failed: count(), total: count() })),
});

export const listRunsRoute = route({
  name: 'listRuns',
  method: 'GET',
  path: '/v1/runs',
  role: 'viewer',
  why: 'Lists runs, newest first.',
  query: record({
    kind: z.optional(matching(/^[a-z]{1,20}$/, 'a kind of run')),
    state: z.optional(z.enum(['waiting', 'running', 'finished', 'interrupted', 'foreign', 'unreadable'])),
    status: z.optional(z.string().check(z.maxLength(40))),
    q: z.optional(z.string().check(z.maxLength(200))),
    sort: z.optional(z.enum(['newest', 'oldest', 'longest'])),
    after: z.optional(matching(/^(?:[\w.-]{1,100}\/)?[A-Za-z0-9][\w.-]{0,99}$/, 'the `next` of a page')),
    limit: z.optional(matching(/^(?:[1-9]\d?|1\d\d|200)$/, 'a number from 1 to 200')),
  }),
  refuses: { page_gone: 410 },
  gives: record({ runs: z.array(runRow), total: z.nullable(count()), next: z.nullable(z.string()) }),
  act: async ({ query }, { server }) => {
    const bytes = await server.runPages.bytes({ ...query, limit: Number(query.limit ?? 50) });
    return new Content(bytes, { 'content-type': 'application/json; charset=utf-8' });
  },
});

export const showRunRoute = route({
  name: 'showRun',
  method: 'GET',
  path: '/v1/runs/{run_id}',
  role: 'viewer',
  why: 'Shows the state of one run, or of the run that answers an attempt of a suite.',
  params: runParams,
  gives: record({ ...runRow.shape, is_attempt: z.boolean() }),
  act: async ({ params }, { server }) => {
    const ordered = server.runs.find(params.run_id) ? undefined : server.runs.orderedRow(params.run_id);
    if (ordered) return { ...ordered, is_attempt: false };
    const { isAttempt, ...place } = readableRunAt(params.run_id, server);
    return { ...(await server.runs.row(place)), is_attempt: isAttempt };
  },
});
