import * as z from 'zod/mini';
import { correlationText, matching, record } from '../../contracts/shape.ts';
import { runFilesShape, runLogShape } from '../../verbs/evidence/file-view.ts';
import { Content, route, type Route } from '../http/route.ts';
import { readableRunAt, runAt, runParams } from './run-at.ts';

const filePath = () => z.string().check(z.minLength(1), z.maxLength(4_096));

const runFilesRoute = route({
  name: 'runFiles',
  method: 'GET',
  path: '/v1/runs/{run_id}/files',
  role: 'viewer',
  why: 'Lists the files of a sealed run, sorted by path.',
  params: runParams,
  query: record({
    role: z.optional(matching(/^[a-z]{1,20}$/, 'a role of a file')),
    q: z.optional(z.string().check(z.maxLength(200))),
    after: z.optional(filePath()),
    limit: z.optional(matching(/^(?:[1-9]\d{0,2}|1000)$/, 'a number from 1 to 1000')),
  }),
  gives: runFilesShape,
  refuses: { not_sealed: 409, unreadable_run: 409 },
  act: ({ params, query }, { server }) =>
    server.files.page(readableRunAt(params.run_id, server), { ...query, limit: Number(query.limit ?? 100) }),
});

const downloadFileRoute = route({
  name: 'downloadFile',
  method: 'GET',
  path: '/v1/runs/{run_id}/files/{file}',
  role: 'viewer',
  why: 'Downloads one file of a sealed run; a slash in its path is written as %2F. It never gives internal files.',
  params: record({ ...runParams.shape, file: filePath() }),
  gives: { media: '*/*' },
  refuses: {
    not_sealed: 409,
    unreadable_run: 409,
    no_file: 404,
    file_missing: 404,
    file_expired: 410,
    file_withheld: 403,
    not_as_sealed: 409,
  },
  act: async ({ params }, { server }) => {
    const { headers, stream } = await server.files.download(readableRunAt(params.run_id, server), params.file);
    return new Content(stream, headers);
  },
});

const runLogRoute = route({
  name: 'runLog',
  method: 'GET',
  path: '/v1/runs/{run_id}/log',
  role: 'admin',
  why: 'Gives the internal log and the printed output of a run.',
  params: runParams,
  gives: runLogShape,
  act: ({ params }, { server }) => server.threads.read('log', { folder: readableRunAt(params.run_id, server).folder }),
});

const findLogRoute = route({
  name: 'findLog',
  method: 'GET',
  path: '/v1/logs/{correlation_id}',
  role: 'admin',
  why: 'Gives the log of the run with this correlation id.',
  params: record({ correlation_id: correlationText() }),
  gives: runLogShape,
  refuses: { no_log: 404 },
  act: async ({ params }, { server }) => {
    const { home, threads } = server;
    const id = await threads.read('correlation', { home, correlationId: params.correlation_id });
    return threads.read('log', { folder: runAt(id, server).folder });
  },
});

/** The files of runs, and what only operators see of them. */
export const FILE_ROUTES: readonly Route[] = [runFilesRoute, downloadFileRoute, runLogRoute, findLogRoute];
